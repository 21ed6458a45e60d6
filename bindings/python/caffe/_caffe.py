"""caffe._caffe: what pycaffe's compiled module exports. Most of it is loaded on demand, as in the package."""
import importlib
import sys

from .python_layer import Blob, BlobVec, Layer, RawBlobVec
from .vectors import BoolVec, DtypeVec, IntVec, LayerVec, NetVec, StringVec

_package = sys.modules[__package__]
_OF_PACKAGE = _package.exports('modes', 'nccl', 'net', 'solver', 'timer')

__all__ = ['Blob', 'BlobVec', 'BoolVec', 'DtypeVec', 'IntVec', 'Layer', 'LayerVec', 'NetVec', 'RawBlobVec',
           'SolverParameter', 'StringVec', *_OF_PACKAGE]


def __getattr__(name):
    if name == 'SolverParameter':
        return importlib.import_module('.proto.caffe_pb2', __package__).SolverParameter
    if name in _OF_PACKAGE or name == '__version__':
        return getattr(_package, name)
    raise AttributeError("module '%s' has no '%s'" % (__name__, name))


def __dir__():
    return sorted({*globals(), *__all__})
