"""pycaffe's interface to Cortado, for existing scripts and notebooks (docs/python.md).

Everything except layers is loaded on demand, because Python layers import this module in every training.
"""
import importlib

from .python_layer import TEST, TRAIN, Layer

_PARTS = ('_caffe', 'blob', 'classifier', 'coord_map', 'detector', 'draw', 'io', 'modes', 'nccl', 'net', 'net_spec',
          'proto', 'pycaffe', 'solver', 'timer', 'vectors')
_HOMES = {
    'classifier': ['Classifier'],
    'detector': ['Detector'],
    'modes': ['init_log', 'layer_type_list', 'log', 'set_device', 'set_mode_cpu', 'set_mode_gpu', 'set_random_seed'],
    'nccl': ['NCCL', 'has_nccl', 'set_multiprocess', 'set_solver_count', 'set_solver_rank', 'solver_count',
             'solver_rank'],
    'net': ['Net'],
    'net_spec': ['NetSpec', 'layers', 'params', 'to_proto'],
    'solver': ['AdaDeltaSolver', 'AdaGradSolver', 'AdamSolver', 'NesterovSolver', 'RMSPropSolver', 'SGDSolver',
               'Solver', 'get_solver'],
    'timer': ['Timer']}
_HOME_OF = {name: part for part, names in _HOMES.items() for name in names}

__all__ = ['TEST', 'TRAIN', 'Layer', 'coord_map', 'draw', 'io', 'proto', 'pycaffe', *_HOME_OF]


def exports(*parts):
    """The names of the package that these modules define."""
    return [name for part in parts for name in _HOMES[part]]


def __getattr__(name):
    if name == '__version__':
        return importlib.import_module('cortado').__version__
    if name in _PARTS:
        return importlib.import_module('.' + name, __name__)
    if name not in _HOME_OF:
        raise AttributeError("module 'caffe' has no '%s'" % name)
    found = getattr(importlib.import_module('.' + _HOME_OF[name], __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *_PARTS, *_HOME_OF})
