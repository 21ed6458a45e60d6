"""Cortado from Python: inference, inspection of nets, and training.

    net = cortado.Predictor('deploy.prototxt', 'net.caffemodel')
    scores = net.predict(data=images)['prob']

    solver = cortado.Solver('solver.prototxt')
    solver.step(100)
    print(solver.iteration, solver.loss)

Errors in files or arguments raise cortado.Error. Its text has file, line, column and a hint; its `code` is the
program's exit code.
"""
from . import _levels

_levels.load()

from ._cortado import (Dataset, Error, Net, Predictor, Solver, __version__, layer_options, layer_types, load_image,
                       read_solver, set_log_level)
from .program import check, summary

__all__ = ['Dataset', 'Error', 'Net', 'Predictor', 'Solver', '__version__', 'check', 'layer_options', 'layer_types',
           'load_image', 'read_solver', 'set_log_level', 'summary']
