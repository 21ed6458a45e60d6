"""Replaces `cortado._cortado` within the program, where a net has a Python layer: the program is the trainer already,
and a process can have only one. Files may be inspected, but nets and trainings cannot be made.
"""
import json

from . import program


class Error(RuntimeError):
    """An error with its place and a hint; `code` is the program's exit code."""

    code = 2


def _refused(name):
    def refuse(*_, **__):
        raise Error('a Python layer within the program cortado cannot use cortado.%s; run the net from a Python script '
                    'instead' % name)
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
    """Ignored: the program has flags for the log level."""


def __getattr__(name):
    if name == '__version__':
        return program.run('--version').split()[-1]
    raise AttributeError(name)
