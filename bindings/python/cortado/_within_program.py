"""What `cortado._cortado` is within the program, where a net has a layer written in Python: the program is the trainer
already, and a process has it once. Files may be looked at, but nets and trainings are not made.
"""
import json

from . import program


class Error(RuntimeError):
    """What is wrong, with its place and a hint; `code` is the program's exit code."""

    code = 2


def _refused(name):
    def refuse(*_, **__):
        raise Error('a layer of a net that the program cortado runs cannot use cortado.%s: a script in Python can, and '
                    'its layers too' % name)
    return refuse


Dataset, Net, Predictor, Solver, load_image, read_solver = map(
    _refused, ('Dataset', 'Net', 'Predictor', 'Solver', 'load_image', 'read_solver'))


def _layers():
    return json.loads(program.run('layers', '--json'))


def layer_types():
    return [layer['type'] for layer in _layers()]


def layer_options():
    return {layer['type']: layer['options'] for layer in _layers()}


def set_log_level(level):
    """The program has flags for that."""


def __getattr__(name):
    if name == '__version__':
        return program.run('--version').split()[-1]
    raise AttributeError(name)
