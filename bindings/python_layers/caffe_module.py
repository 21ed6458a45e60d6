"""caffe.python_layer: the base class of Python layers, and the code that runs them for Cortado.

It is also embedded in libcortado_python.so, where it is all of `caffe` if the package is missing; module.cc calls
make() and the methods of Runner.
"""
import importlib.util
import math
import operator
import os
import signal
import sys
import traceback

import numpy

TRAIN, TEST = 0, 1

_OK, _NO_MODULE, _NO_CLASS, _FAILED = range(4)
_MAX_AXES, _MAX_COUNT = 32, 1 << 40
_METHODS = ('setup', 'reshape', 'forward', 'backward')


class Layer:
    """An optional base class of layers."""

    type = 'Python'

    def __init__(self, *_):
        pass

    def setup(self, bottom, top):
        pass


class Blob:
    """`data` and `diff` are arrays that two lenders (caffe.blob) keep; changes of them are written to the net. `shape`
    and `reshape` are functions."""

    def __init__(self, data, diff, shape, reshape=None):
        self._lent = (data, diff)
        self._shape_of, self._reshape = shape, reshape

    def share_data(self, data):
        """Shares the array that `data` lends."""
        self._lent = (data, self._lent[1])

    def lent(self):
        return self._lent

    def _array(self, which):
        return self._lent[which].get()

    @property
    def data(self):
        return self._array(0)

    @data.setter
    def data(self, values):
        self.data[...] = values

    @property
    def diff(self):
        return self._array(1)

    @diff.setter
    def diff(self, values):
        self.diff[...] = values

    @property
    def shape(self):
        return self._shape_of()

    def reshape(self, *extents):
        """Sets an input's shape for the next pass (or Net.reshape()); `data` has it at once, filled with zeros."""
        if self._reshape is None:
            raise ValueError('the shape of a weight is fixed by its layer')
        extents = tuple(int(extent) for extent in extents)
        if extents == tuple(self.shape):
            return
        self._reshape(extents)
        for lent in self._lent:
            lent.replace(numpy.zeros(extents, numpy.float32))

    def let_go(self):
        """Detaches the arrays, because the shape is about to change."""
        for lent in self._lent:
            lent.replace(None)

    @property
    def count(self):
        return math.prod(self.shape)

    def _extent(self, axis):
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._extent(0))
    channels = property(lambda self: self._extent(1))
    height = property(lambda self: self._extent(2))
    width = property(lambda self: self._extent(3))


class LayerBlob(Blob):
    """A blob of a Python layer: arrays in the net's memory; without memory, arrays of zeros."""

    def __init__(self, fixed=None):
        self._fixed = fixed  # why its shape cannot be changed
        self._bind(None, None, None)

    def _bind(self, shape, data, diff):
        self._shape, self._memory, self._arrays = shape, (data, diff), [None, None]

    def _array(self, which):
        if self._arrays[which] is None:
            memory, count = self._memory[which], self.count
            if memory is None or memory.nbytes < 4 * count or count == 0:
                self._arrays[which] = numpy.zeros(self.shape, numpy.float32)
            else:
                self._arrays[which] = numpy.frombuffer(memory, numpy.float32, count).reshape(self.shape)
        return self._arrays[which]

    @property
    def shape(self):
        return self._shape or ()

    def reshape(self, *dims):
        """Sets the shape, one integer per axis."""
        shape = tuple(operator.index(extent) for extent in dims)
        if shape == self._shape:
            return
        if self._fixed:
            raise ValueError(self._fixed)
        if any(extent < 0 for extent in shape):
            raise ValueError('reshape%s: an extent is negative' % (shape,))
        if len(shape) > _MAX_AXES or math.prod(shape) > _MAX_COUNT:
            raise ValueError('reshape%s: the shape is too large' % (shape,))
        self._shape, self._arrays = shape, [None, None]


class RawBlobVec(list):
    """The bottoms or tops of a layer."""


class BlobVec(list):
    """The weights of a layer, or the blobs of a net."""

    fixed = True

    def add_blob(self, *dims):
        if self.fixed:
            raise ValueError('add_blob() may be called only in setup()')
        blob = LayerBlob()
        blob.reshape(*dims)
        self.append(blob)


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    raise AttributeError("the package caffe is not installed next to the program: only its part for Python layers is "
                         "available, which has Layer, TRAIN and TEST, but not '%s'" % name)


class _Refusal(Exception):
    """Why a layer cannot be made: a status, a message, and the cause."""

    def __init__(self, status, words, error=None):
        super().__init__(words)
        self.status, self.words, self.error = status, words, error


def _without_own_frames(report):
    """Removes the frames of this file from a traceback."""
    while report is not None:
        frames = [frame for frame in report.stack or [] if frame.filename != __file__]
        report.stack = traceback.StackSummary.from_list(frames) if frames else None
        _without_own_frames(report.__cause__)
        report = report.__context__


def _traceback(error):
    report = traceback.TracebackException.from_exception(error)
    _without_own_frames(report)
    return ''.join(report.format()).rstrip('\n')


def _summary(error):
    try:
        words = str(error).strip().split('\n')[0]
    except Exception:  # raised by the user's __str__
        words = ''
    return type(error).__name__ + (': ' + words if words else '')


def _bytes(text):
    return text.encode('utf-8', 'backslashreplace')


def _import(name):
    try:
        return __import__(name, fromlist=['_'])  # returns the last part of a dotted name
    except BaseException as error:
        missing = getattr(error, 'name', None) if isinstance(error, ModuleNotFoundError) else None
        if missing and (name + '.').startswith(missing + '.'):
            folders = os.environ.get('PYTHONPATH')
            raise _Refusal(_NO_MODULE, "module '%s' is not in the working folder %s%s" % (
                name, os.getcwd(), ' or in PYTHONPATH, which is ' + folders if folders else ', and PYTHONPATH is not '
                'set'))
        raise _Refusal(_NO_MODULE, "module '%s' cannot be imported: %s" % (name, _summary(error)), error)


def _class_of(module, name):
    found = getattr(module, name, None)
    if isinstance(found, type):
        return found
    here = sorted(key for key, value in vars(module).items()
                  if isinstance(value, type) and value.__module__ == module.__name__)
    raise _Refusal(_NO_CLASS, "module '%s' (%s) has no class '%s'%s" % (
        module.__name__, getattr(module, '__file__', None), name, '; it has ' + ', '.join(here) if here else ''))


class Runner:
    """An object of a user's class, with its blobs."""

    def __init__(self, module, name, param_str, phase, bottoms, in_place):
        made = _class_of(_import(module), name)
        refusal = 'a layer may set the shapes of its tops only, not of its bottoms'
        self._bottoms = [LayerBlob(refusal) for _ in range(bottoms)]
        self._tops = [self._bottoms[i] if same else LayerBlob() for i, same in enumerate(in_place)]
        self._weights = BlobVec()
        self._weights.fixed = False
        self._blobs = (self._bottoms, self._tops, self._weights)
        try:
            self.layer = made(None) if issubclass(made, Layer) else made()
            for key, value in (('param_str', param_str), ('param_str_', param_str), ('phase', phase),
                               ('blobs', self._weights)):
                setattr(self.layer, key, value)
        except BaseException as error:
            raise _Refusal(_FAILED, '__init__() raised ' + _summary(error), error)

    def bind(self, kind, index, shape, data, diff):
        self._blobs[kind][index]._bind(shape, data, diff)

    def shape(self, kind, index):
        return self._blobs[kind][index]._shape

    def weights(self):
        """Returns the number of weights, and fixes their shapes."""
        self._weights.fixed = True
        for blob in self._weights:
            blob._fixed = 'the shapes of weights may be set only in setup()'
        return len(self._weights)

    def weight_values(self, index):
        return numpy.ascontiguousarray(self._weights[index].data).tobytes()

    def let_go(self):
        """Detaches the blobs from the net's memory, which is about to be freed."""
        for blobs in self._blobs:
            for blob in blobs:
                blob._bind(blob._shape, None, None)

    def adopt(self, other):
        """Takes over the object of another runner, with its state, after the net was rebuilt."""
        self.layer = other.layer
        self.layer.blobs = self._weights

    def rows_vary(self):
        return bool(getattr(self.layer, 'rows_vary', False))

    def call(self, method, propagate_down):
        """Runs a method; returns a status and an error message."""
        name, bottom, top = _METHODS[method], RawBlobVec(self._bottoms), RawBlobVec(self._tops)
        try:
            if name == 'backward':
                self.layer.backward(top, propagate_down, bottom)
            elif name != 'setup' or hasattr(self.layer, 'setup'):
                getattr(self.layer, name)(bottom, top)
        except BaseException as error:
            return _FAILED, _bytes('%s() raised %s\n%s' % (name, _summary(error), _traceback(error)))
        return _OK, b''


def make(*options):
    """Returns a status, and a Runner or an error message."""
    try:
        return _OK, Runner(*options)
    except _Refusal as refusal:
        words = refusal.words
        if refusal.error is not None:
            words += '\n' + _traceback(refusal.error)
        return refusal.status, _bytes(words)


def at_exit():
    """Runs atexit functions, because the interpreter is not finalized."""
    import atexit
    atexit._run_exitfuncs()
    sys.stderr.flush()


def _in_child():
    """Resets signals in forked processes: SIGTERM ends them, and they ignore Ctrl-C, so that they do not end first."""
    for number, action in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.SIG_IGN),
                           (signal.SIGHUP, signal.SIG_IGN)):
        signal.signal(number, action)


def _package_near(folder):
    """The folder of the package `caffe` of this build or installation, searched from the library's folder, or None."""
    near = [os.path.join(folder, *path) for up in ((), ('..',), ('..', '..'))
            for path in (up, up + ('python',), up + ('python3', 'dist-packages'),
                         up + ('lib', 'python3', 'dist-packages'))]
    for place in near + sys.path:
        if all(os.path.isfile(os.path.join(place, *file)) for file in
               (('caffe', '__init__.py'), ('caffe', 'python_layer.py'), ('cortado', '_within_program.py'))):
            return os.path.normpath(place)
    return None


def _become_caffe(folder):
    """Registers the package with this module as `caffe`, before another one of that name can be imported."""
    place = _package_near(folder)
    if place is None:
        sys.modules['caffe'] = sys.modules[__name__]
        return
    path = os.path.join(place, 'caffe')
    spec = importlib.util.spec_from_file_location('caffe', os.path.join(path, '__init__.py'),
                                                  submodule_search_locations=[path])
    sys.modules['caffe'] = package = importlib.util.module_from_spec(spec)
    package.python_layer = sys.modules[__name__]
    spec.loader.exec_module(package)
    sys.path.append(place)  # for `cortado`


within_program = False


def begin(folder):
    """Initializes the program's interpreter. stdout is reserved for results, so the modules' output goes to stderr."""
    global within_program
    within_program = True
    _become_caffe(folder)
    os.register_at_fork(after_in_child=_in_child)
    sys.stdout = sys.stderr
    sys.path.insert(0, '')
