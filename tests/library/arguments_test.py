"""Every function of cortado.h that takes a name, an index or a size refuses a wrong one, and says what is known."""
import ctypes, pathlib, re

import pytest

NET = '''layer { name: "in" type: "Input" top: "image" top: "mask"
  input_param { shape { dim: 1 dim: 2 } shape { dim: 1 dim: 2 } } }
layer { name: "sum" type: "Eltwise" bottom: "image" bottom: "mask" top: "sum" }
layer { name: "power" type: "Power" bottom: "sum" top: "power" power_param { scale: 2 } }
'''
TRAIN = '''layer { name: "in" type: "DummyData" top: "image" dummy_data_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "image" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "sum" type: "Reduction" bottom: "ip" top: "total" loss_weight: 1 }
layer { name: "twice" type: "Power" bottom: "ip" top: "twice" power_param { scale: 2 } }
'''
SOLVER = 'net: "train.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 4 snapshot_prefix: "x"'
USAGE, DATA, IO = 2, 4, 5


class PredictorOptions(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('threads', ctypes.c_int), ('batch', ctypes.c_int64),
                ('outputs', ctypes.c_char_p), ('device', ctypes.c_char_p), ('precision', ctypes.c_char_p)]


class SolverOptions(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('threads', ctypes.c_int), ('snapshot', ctypes.c_char_p),
                ('weights', ctypes.c_char_p), ('device', ctypes.c_char_p), ('precision', ctypes.c_char_p)]


class LaterOptions(ctypes.Structure):
    """The options of a later version, with one more field."""
    _fields_ = [('known', PredictorOptions), ('field', ctypes.c_size_t)]


class Array(ctypes.Structure):
    _fields_ = [('values', ctypes.POINTER(ctypes.c_float)), ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('axes', ctypes.c_size_t)]


def options(kind, **fields):
    fields.setdefault('size', ctypes.sizeof(kind))
    return kind(**fields)


def later(value):
    made = LaterOptions(field=value)
    made.known.size = ctypes.sizeof(LaterOptions)
    return made


size = ctypes.c_size_t
values = (ctypes.c_float * 2)(1, 2)


def shape(*extents):
    return (ctypes.c_int64 * max(len(extents), 1))(*extents), size(len(extents))


@pytest.fixture(scope='module')
def lib(build):
    found = list(pathlib.Path(build, 'lib').glob('libcortado.so'))
    if not found: pytest.skip('built without the library')
    lib = ctypes.CDLL(str(found[0]))
    for name in 'cortado_last_error', 'cortado_predictor_input', 'cortado_predictor_output':
        getattr(lib, name).restype = ctypes.c_char_p
    lib.cortado_set_log_level(2)
    return lib


@pytest.fixture(scope='module')
def things(lib, tmp_path_factory):
    """A predictor, a request of it that has run, one that has not, and a training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp('arguments'))
        for name, text in ('net.prototxt', NET), ('train.prototxt', TRAIN), ('solver.prototxt', SOLVER):
            pathlib.Path(name).write_text(text)
        predictor, request, fresh, solver = (ctypes.c_void_p() for _ in range(4))
        assert lib.cortado_predictor_open(b'net.prototxt', None, size(0), None, ctypes.byref(predictor)) == 0
        for one in request, fresh: assert lib.cortado_request_open(predictor, ctypes.byref(one)) == 0
        for name in b'image', b'mask': assert lib.cortado_request_set(request, name, values, *shape(1, 2)) == 0
        assert lib.cortado_request_run(request) == 0, lib.cortado_last_error()
        assert lib.cortado_solver_open(b'solver.prototxt', None, ctypes.byref(solver)) == 0, lib.cortado_last_error()
        yield predictor, request, fresh, solver
        for one in request, fresh: lib.cortado_request_close(one)
        lib.cortado_predictor_close(predictor)
        lib.cortado_solver_close(solver)


# Functions whose argument has no wrong value, each with the reason.
WITHOUT = {'cortado_set_log_level': 'every number is a level'}


def cases(lib, predictor, request, fresh, solver):
    """Yields (function, arguments, status, words of the message)."""
    array, made = ctypes.byref(Array()), ctypes.byref(ctypes.c_void_p())
    text = NET.encode()

    def opened(options): return b'net.prototxt', None, size(0), ctypes.byref(options), made
    yield 'cortado_predictor_open', (b'nowhere.prototxt', None, size(0), None, made), IO, ['nowhere.prototxt']
    yield 'cortado_predictor_open', (None, None, size(0), None, made), USAGE, ['model is NULL']
    yield 'cortado_predictor_open', (b'net.prototxt', None, size(1), None, made), USAGE, ['weights is NULL']
    yield 'cortado_predictor_open', opened(options(PredictorOptions, outputs=b'sam')), USAGE, ["did you mean 'sum'"]
    yield 'cortado_predictor_open', opened(options(PredictorOptions, outputs=b'nothing')), USAGE, ["'power'", "'sum'"]
    yield 'cortado_predictor_open', opened(options(PredictorOptions, device=b'tpu')), None, ['tpu', 'cpu']
    yield 'cortado_predictor_open', opened(options(PredictorOptions, precision=b'fp7')), None, ['fp7', 'fp32']
    yield 'cortado_predictor_open', opened(options(PredictorOptions, threads=-1)), USAGE, ['negative']
    yield 'cortado_predictor_open', opened(options(PredictorOptions, batch=-1)), USAGE, ['negative']
    for wrong in 0, 3, 1 << 40:
        yield ('cortado_predictor_open', opened(options(PredictorOptions, size=wrong)), USAGE,
               [str(wrong), str(ctypes.sizeof(PredictorOptions))])
    yield 'cortado_predictor_open', opened(later(1)), USAGE, ['later version']
    memory = 'cortado_predictor_open_memory'
    yield memory, (None, size(0), None, size(0), None, made), USAGE, ['model is NULL']
    yield memory, (text, size(len(text)), None, size(9), None, made), USAGE, ['weights_size is 9']
    yield memory, (text, size(len(text) - 9), None, size(0), None, made), 3, ['(model in memory)']
    yield 'cortado_predictor_input', (predictor, size(2), None, None), None, ["'image', 'mask'"]
    yield 'cortado_predictor_output', (predictor, size(1), None, None), None, ["'power'"]
    yield 'cortado_request_set', (request, b'imge', values, *shape(1, 2)), USAGE, ["did you mean 'image'"]
    yield 'cortado_request_set', (request, b'x', values, *shape(1, 2)), USAGE, ["'x' is not", "image", "mask"]
    yield 'cortado_request_set', (request, None, values, *shape(1, 2)), USAGE, ['input is NULL']
    yield 'cortado_request_set', (request, b'image', values, *shape(2)), DATA, ["'image' expects 1x2"]
    yield 'cortado_request_set', (request, b'image', values, *shape(1, -2)), DATA, ['negative']
    yield 'cortado_request_set', (request, b'image', values, shape()[0], size(33)), USAGE, ['at most 32']
    yield 'cortado_request_get', (request, b'nothing', array), USAGE, ["its outputs are 'power'"]
    yield 'cortado_request_get', (request, None, array), USAGE, ['output is NULL']
    yield 'cortado_request_get', (fresh, b'power', array), USAGE, ['run the request first']
    yield 'cortado_solver_open', (b'nowhere', None, made), IO, ['nowhere']
    def trained(options): return b'solver.prototxt', ctypes.byref(options), made
    yield 'cortado_solver_open', trained(options(SolverOptions, threads=-1)), USAGE, ['negative']
    yield 'cortado_solver_open', trained(options(SolverOptions, size=1)), USAGE, ['size of the options is 1']
    yield 'cortado_solver_open', trained(options(SolverOptions, weights=b'nowhere')), IO, ['nowhere']
    yield 'cortado_solver_open', trained(options(SolverOptions, snapshot=b'nowhere')), IO, ['nowhere']
    yield 'cortado_solver_open', trained(options(SolverOptions, precision=b'fp7')), None, ['fp7', 'fp32']
    yield 'cortado_solver_open', trained(options(SolverOptions, device=b'tpu')), None, ['tpu', 'cpu']
    yield 'cortado_solver_step', (solver, ctypes.c_int64(-1)), USAGE, ['negative']
    yield 'cortado_solver_blob', (solver, b'totl', array), USAGE, ["did you mean 'total'"]
    yield 'cortado_solver_blob', (solver, b'nothing', array), USAGE, ["'image'", "'ip'", "'total'"]


def test_each_function_refuses_what_it_does_not_know(lib, things):
    for name, arguments, status, words in cases(lib, *things):
        got = getattr(lib, name)(*arguments)
        said = lib.cortado_last_error().decode()
        assert got != 0 and (status is None or got == status), (name, words, got, said)
        assert all(word in said for word in words), (name, words, said)


def test_failed_calls_change_nothing(lib, things):
    _, request, _, _ = things
    got = Array()
    assert lib.cortado_request_run(request) == 0, lib.cortado_last_error()
    assert lib.cortado_request_get(request, b'power', ctypes.byref(got)) == 0
    assert [got.values[i] for i in range(2)] == [4, 8]


def test_blobs_have_their_shapes(lib, things):
    *_, solver = things
    assert lib.cortado_solver_step(solver, ctypes.c_int64(1)) == 0, lib.cortado_last_error()
    for name, wanted in (b'twice', [2, 1]), (b'total', []), (b'twice', [2, 1]):
        got = Array()
        assert lib.cortado_solver_blob(solver, name, ctypes.byref(got)) == 0, lib.cortado_last_error()
        assert [got.shape[i] for i in range(got.axes)] == wanted, name


def test_older_and_later_callers_with_known_fields_are_accepted(lib, things):
    for options in later(0), PredictorOptions(size=PredictorOptions.outputs.offset):
        made = ctypes.c_void_p()
        assert lib.cortado_predictor_open(b'net.prototxt', None, size(0), ctypes.byref(options),
                                          ctypes.byref(made)) == 0, lib.cortado_last_error()
        lib.cortado_predictor_close(made)


def test_all_functions_are_covered(lib, source, things):
    header = pathlib.Path(source, 'bindings/c/include/cortado.h').read_text()
    taking = {name for name, parameters in re.findall(r'CORTADO_API[^;(]*?(cortado_\w+)\(([^;]*)\);', header)
              if re.search(r'const char\* ?\w|size_t \w|int64_t \w|int \w|_options\*', parameters)}
    assert len(taking) > 8
    assert taking == {case[0] for case in cases(lib, *things)} | set(WITHOUT)
