"""caffe.python_layer: the base of layers written in Python, and what runs them for Cortado.

Embedded in libcortado_python.so as well, where it is the whole of `caffe` unless the package is there; module.cc calls
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
    """What classes of layers are derived from, if they like."""

    type = 'Python'

    def __init__(self, *_):
        pass

    def setup(self, bottom, top):
        pass


class Blob:
    """An array of floats, and one of gradients, over memory of the net; where there is none, arrays of zeros."""

    def __init__(self, fixed=None):
        self._fixed = fixed  # why its shape may not be changed
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
    def data(self):
        return self._array(0)

    @property
    def diff(self):
        return self._array(1)

    @property
    def shape(self):
        return self._shape or ()

    @property
    def count(self):
        return math.prod(self.shape)

    def reshape(self, *dims):
        """Its new shape: integers, as many as it has axes."""
        shape = tuple(operator.index(extent) for extent in dims)
        if shape == self._shape:
            return
        if self._fixed:
            raise ValueError(self._fixed)
        if any(extent < 0 for extent in shape):
            raise ValueError('reshape%s: an extent is negative' % (shape,))
        if len(shape) > _MAX_AXES or math.prod(shape) > _MAX_COUNT:
            raise ValueError('reshape%s: that is too large' % (shape,))
        self._shape, self._arrays = shape, [None, None]

    def _extent(self, axis):
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._extent(0))
    channels = property(lambda self: self._extent(1))
    height = property(lambda self: self._extent(2))
    width = property(lambda self: self._extent(3))


class Blobs(list):
    """A layer's weights."""

    fixed = False

    def add_blob(self, *dims):
        if self.fixed:
            raise ValueError('add_blob() is for setup(): the weights of this layer are known by now')
        blob = Blob()
        blob.reshape(*dims)
        self.append(blob)


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(name)
    raise AttributeError("the package caffe is not beside the program: this is its part for layers written in Python, "
                         "which has Layer, TRAIN and TEST, and no '%s'" % name)


class _Refusal(Exception):
    """What a layer cannot be made of: a status, one line of words, and the exception behind it."""

    def __init__(self, status, words, error=None):
        super().__init__(words)
        self.status, self.words, self.error = status, words, error


def _without_own_frames(report):
    """The report of an exception without the lines that are not the user's."""
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
    except Exception:  # the user's own __str__
        words = ''
    return type(error).__name__ + (': ' + words if words else '')


def _bytes(text):
    return text.encode('utf-8', 'backslashreplace')


def _import(name):
    try:
        return __import__(name, fromlist=['_'])  # the last part of a name with dots
    except BaseException as error:
        missing = getattr(error, 'name', None) if isinstance(error, ModuleNotFoundError) else None
        if missing and (name + '.').startswith(missing + '.'):
            folders = os.environ.get('PYTHONPATH')
            raise _Refusal(_NO_MODULE, "there is no module '%s' in the working directory %s%s" % (
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
        refusal = 'a layer gives its tops their shapes; those of its bottoms are not its own'
        self._bottoms = [Blob(refusal) for _ in range(bottoms)]
        self._tops = [self._bottoms[i] if same else Blob() for i, same in enumerate(in_place)]
        self._weights = Blobs()
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
        """How many there are; from now on they are what they are."""
        self._weights.fixed = True
        for blob in self._weights:
            blob._fixed = 'the weights of a layer keep the shape that setup() gave them'
        return len(self._weights)

    def weight_values(self, index):
        return numpy.ascontiguousarray(self._weights[index].data).tobytes()

    def let_go(self):
        """The net's memory goes; somebody may have the layer longer."""
        for blobs in self._blobs:
            for blob in blobs:
                blob._bind(blob._shape, None, None)

    def adopt(self, other):
        """Takes over what another runner's object has seen, where the net was made anew."""
        self.layer = other.layer
        self.layer.blobs = self._weights

    def rows_vary(self):
        return bool(getattr(self.layer, 'rows_vary', False))

    def call(self, method, propagate_down):
        """Runs a method; returns a status and what went wrong."""
        name, bottom, top = _METHODS[method], list(self._bottoms), list(self._tops)
        try:
            if name == 'backward':
                self.layer.backward(top, propagate_down, bottom)
            elif name != 'setup' or hasattr(self.layer, 'setup'):
                getattr(self.layer, name)(bottom, top)
        except BaseException as error:
            return _FAILED, _bytes('%s() raised %s\n%s' % (name, _summary(error), _traceback(error)))
        return _OK, b''


def make(*options):
    """A status, then a Runner or what went wrong."""
    try:
        return _OK, Runner(*options)
    except _Refusal as refusal:
        words = refusal.words
        if refusal.error is not None:
            words += '\n' + _traceback(refusal.error)
        return refusal.status, _bytes(words)


def at_exit():
    """What modules want done at the end, which comes without the interpreter's."""
    import atexit
    atexit._run_exitfuncs()
    sys.stderr.flush()


def _in_child():
    """Processes that modules fork are not the program: they end when told to, and not before it does at Ctrl-C."""
    for number, action in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.SIG_IGN),
                           (signal.SIGHUP, signal.SIG_IGN)):
        signal.signal(number, action)


def _package_near(folder):
    """Where the package `caffe` of this build or installation lies, from that of the library; None: nowhere."""
    near = [os.path.join(folder, *path) for up in ((), ('..',), ('..', '..'))
            for path in (up, up + ('python',), up + ('python3', 'dist-packages'),
                         up + ('lib', 'python3', 'dist-packages'))]
    for place in near + sys.path:
        if all(os.path.isfile(os.path.join(place, *file)) for file in
               (('caffe', '__init__.py'), ('caffe', 'python_layer.py'), ('cortado', '_within_program.py'))):
            return os.path.normpath(place)
    return None


def _become_caffe(folder):
    """There is one `caffe`, the package with this module in it, before any other of that name is looked for."""
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
    """In the program's own interpreter. Results are on standard output, so what modules print goes to the log's place.
    """
    global within_program
    within_program = True
    _become_caffe(folder)
    os.register_at_fork(after_in_child=_in_child)
    sys.stdout = sys.stderr
    sys.path.insert(0, '')
