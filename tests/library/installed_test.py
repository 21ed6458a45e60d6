"""The installed library: its symbols, the examples built out of the tree with CMake and pkg-config, their results
compared with the program's, diagnostics, requests from several threads, a host that uses glog."""
import ctypes, os, pathlib, re, threading

import numpy
import pytest


@pytest.fixture(scope='module')
def place(run, training_folder):
    """A trained net in the current folder."""
    place = training_folder(iters=20, snapshot=10, test_interval=100)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.name)
        run('train', '--solver=solver.prototxt', '--threads=1')
        run('deploy', 'net.prototxt', '-o', 'deploy.prototxt')
        yield place


@pytest.fixture(scope='module')
def installed(build, place, run):
    """The folder with lib/ and include/."""
    if not list(pathlib.Path(build, 'lib').glob('libcortado.so*')): pytest.skip('built without the library')
    for component in ('library', 'development'):
        run('--install', build, '--prefix', place.path('there'), '--component', component, program='cmake')
    return pathlib.Path(place.path('there'))


@pytest.fixture(scope='module')
def library(installed):
    """The path of libcortado.so."""
    return next(installed.glob('lib/**/libcortado.so'))


@pytest.fixture(scope='module')
def examples(installed, library, run, source):
    """examples('classify', ...) runs one of examples/library, which CMake built in examples/."""
    run('-S', source + '/examples/library', '-B', 'examples', '-DCMAKE_PREFIX_PATH=%s' % installed, program='cmake')
    run('--build', 'examples', program='cmake', timeout=240)
    def examples(program, *arguments, **options):
        return run(*arguments, program=program, env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)), **options)
    return examples


@pytest.fixture(scope='module')
def by_pkg_config(installed, run, source):
    """classify.c, built with the flags of pkg-config."""
    file = next(installed.glob('lib/**/cortado.pc'))
    flags = run('--cflags', '--libs', 'cortado', program='pkg-config',
                env=dict(os.environ, PKG_CONFIG_PATH=str(file.parent))).stdout
    assert '-lcortado' in flags, file.read_text()
    run('-Wall', '-Wextra', '-Wpedantic', '-Werror', '-std=c99', source + '/examples/library/classify.c', '-o',
        'by_pkg_config', *flags.split(), program='cc')
    return './by_pkg_config'


@pytest.fixture(scope='module')
def inferred(place, run):
    """An image, and the program's scores for it; image.raw has its pixels."""
    image = numpy.random.default_rng(1).integers(0, 256, (1, 1, 20, 20), dtype=numpy.uint8)
    image.tofile('image.raw')
    values = (image / 256).astype(numpy.float32)
    numpy.save('image.npy', values)
    run('infer', '--model=deploy.prototxt', '--weights=snap_iter_20.caffemodel', '--input', 'data=image.npy',
        '--output', 'prob=scores.npy')
    return values, numpy.load('scores.npy')


def test_symbols_are_those_of_the_list_and_the_header(installed, library, run, source):
    listed = run('-D', '--defined-only', library, program='nm').stdout.split('\n')
    found = sorted(line.split()[2].split('@')[0] for line in listed if ' T ' in line or ' W ' in line or ' V ' in line)
    wanted = pathlib.Path(source, 'tests/library/symbols.txt').read_text().split()
    assert found == wanted
    assert set(re.findall(r'\b(cortado_\w+)\(', (installed / 'include/cortado.h').read_text())) == set(wanted)


def test_examples_classify_as_the_program_does(by_pkg_config, examples, inferred):
    _, scores = inferred
    for program in 'examples/classify_c', 'examples/classify', by_pkg_config:
        got = examples(program, 'deploy.prototxt', 'snap_iter_20.caffemodel', 'image.raw').stdout
        assert got == '%d %g\n' % (scores.argmax(), scores.max()), program


@pytest.mark.parametrize('program', ['examples/classify_c', 'examples/classify'])
def test_examples_print_the_place_of_an_error(examples, inferred, place, program):
    wrong = pathlib.Path('deploy.prototxt').read_text().replace('num_output: 12', 'num_outputs: 12')
    place.write('wrong.prototxt', wrong)
    said = examples(program, 'wrong.prototxt', 'snap_iter_20.caffemodel', 'image.raw', code=3).stderr
    assert re.search(r'wrong.prototxt:\d+:\d+: ', said) and 'num_output' in said


class Array(ctypes.Structure):
    _fields_ = [('values', ctypes.POINTER(ctypes.c_float)), ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('axes', ctypes.c_size_t)]


def test_threads_share_a_predictor_from_memory(inferred, library):
    """Eight threads, each with its own request."""
    values, scores = inferred
    lib = ctypes.CDLL(str(library))
    lib.cortado_last_error.restype = ctypes.c_char_p
    model, weights = open('deploy.prototxt', 'rb').read(), open('snap_iter_20.caffemodel', 'rb').read()
    net = ctypes.c_void_p()
    status = lib.cortado_predictor_open_memory(model, ctypes.c_size_t(len(model)), weights,
                                               ctypes.c_size_t(len(weights)), None, ctypes.byref(net))
    assert status == 0, lib.cortado_last_error()
    wrong = []

    def ask(batch):
        images = numpy.ascontiguousarray(numpy.repeat(values, batch, 0))
        shape = (ctypes.c_int64 * 4)(*images.shape)
        request, got = ctypes.c_void_p(), Array()
        lib.cortado_request_open(net, ctypes.byref(request))
        for _ in range(20):
            lib.cortado_request_set(request, b'data', images.ctypes.data_as(ctypes.c_void_p), shape, ctypes.c_size_t(4))
            if lib.cortado_request_run(request) or lib.cortado_request_get(request, b'prob', ctypes.byref(got)):
                return wrong.append(lib.cortado_last_error())
            made = numpy.ctypeslib.as_array(got.values, (batch, 4))
            if not numpy.allclose(made, numpy.repeat(scores, batch, 0), atol=1e-6): wrong.append(made.copy())
        if lib.cortado_request_set(request, b'data', None, shape, ctypes.c_size_t(4)) != 2: wrong.append('NULL')
        if lib.cortado_request_set(request, b'dota', images.ctypes.data_as(ctypes.c_void_p), shape,
                                   ctypes.c_size_t(4)) != 2: wrong.append('name')
        if b"'dota'" not in lib.cortado_last_error(): wrong.append('message')
        lib.cortado_request_close(request)

    threads = [threading.Thread(target=ask, args=(1 + i % 3,)) for i in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not wrong, wrong[:3]
    lib.cortado_predictor_close(net)


def test_training_by_steps_from_cpp_gives_the_same_bytes(examples, place):
    """With the kernels that the snapshot records."""
    weights = pathlib.Path('snap_iter_20.caffemodel')
    wanted = weights.read_bytes()
    for path in pathlib.Path('.').glob('snap_iter_20.*'): path.unlink()
    text = examples('examples/train', 'solver.prototxt', '10', 'loss').stdout
    assert re.search(r'^20 \d', text, re.M) and 'loss has 1 values in 0 axes' in text
    assert weights.read_bytes() == wanted, 'other weights'


def test_two_trainings_of_one_prefix(library, place):
    lib = ctypes.CDLL(str(library))
    lib.cortado_last_error.restype = ctypes.c_char_p
    one, two = ctypes.c_void_p(), ctypes.c_void_p()
    for solver in (one, two):
        status = lib.cortado_solver_open(b'solver.prototxt', None, ctypes.byref(solver))
        assert status == 0, lib.cortado_last_error()
    for solver in (one, two, one):
        assert lib.cortado_solver_step(solver, ctypes.c_int64(1)) == 0, lib.cortado_last_error()
        assert lib.cortado_solver_snapshot(solver) == 0, lib.cortado_last_error()
    for solver in (one, two): lib.cortado_solver_close(solver)
    assert pathlib.Path('snap_iter_2.solverstate').exists() and not list(pathlib.Path('.').glob('.*.lock'))


@pytest.mark.parametrize('when', ['first', 'later'])
def test_host_keeps_its_log_and_its_signals(installed, library, run, source, when):
    if not pathlib.Path('/usr/include/glog/logging.h').exists(): pytest.skip('no headers of glog')
    run('-std=c++17', source + '/tests/library/host.cc', '-I%s/include' % installed, '-o', 'host',
        '-L%s' % library.parent, '-lcortado', '-lglog', '-lgflags', program='c++')
    done = run('solver.prototxt', when, program='./host', env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)))
    assert 'the host goes on' in done.stderr
    assert re.search(r'^I\d{4} [\d:.]+ +\d+ solver.cc:\d+\] Solver scaffolding done.$', done.stderr, re.M)
