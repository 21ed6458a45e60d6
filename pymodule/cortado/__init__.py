"""Cortado from Python: trained nets as functions of arrays, and trainings.

    net = cortado.Predictor('deploy.prototxt', 'net.caffemodel')
    scores = net.predict(data=images)['prob']

    solver = cortado.Solver('solver.prototxt')
    solver.step(100)
    print(solver.iteration, solver.loss)

What is wrong with files or arguments is a cortado.Error: its text tells file, line, column and a hint, its `code` is
the program's exit code.
"""
from ._cortado import Error, Predictor, Solver, __version__

__all__ = ['Error', 'Predictor', 'Solver', '__version__']
