#!/usr/bin/python3
"""The library as it is installed: its symbols, the examples built out of the tree by CMake and by pkg-config, what they
compute beside what the program computes, mistakes, requests from several threads.

    installed.py CORTADO BUILD SOURCE
"""
import ctypes, os, re, subprocess, sys, threading

exe, build, source = (os.path.abspath(path) for path in sys.argv[1:4])
sys.path.insert(0, source + '/tests/cli')
import numpy
from workplace import Workplace

place = Workplace(exe, iters=20, snapshot=10, test_interval=100)
os.chdir(place.name)

def run(*command, code=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == code, '%s: exit %d\n%s%s' % (command, done.returncode, done.stdout, done.stderr)
    return done

def install():
    for component in ('library', 'development'):
        run('cmake', '--install', build, '--prefix', place.path('there'), '--component', component)
    return [place.path('there/lib')] + [folder for folder, _, _ in os.walk(place.path('there/lib'))]

def check_symbols(library):
    listed = run('nm', '-D', '--defined-only', library).stdout.split('\n')
    found = sorted(line.split()[2].split('@')[0] for line in listed if ' T ' in line or ' W ' in line or ' V ' in line)
    wanted = open(source + '/tests/library/symbols.txt').read().split()
    assert found == wanted, 'symbols that came or went: %s' % sorted(set(found) ^ set(wanted))
    declared = set(re.findall(r'\b(cortado_\w+)\(', open(place.path('there/include/cortado.h')).read()))
    assert declared == set(wanted), 'declared, not defined or the other way round: %s' % sorted(declared ^ set(wanted))

def build_examples(folders):
    run('cmake', '-S', source + '/examples/library', '-B', 'examples', '-DCMAKE_PREFIX_PATH=' + place.path('there'))
    run('cmake', '--build', 'examples')
    found = [folder for folder in folders if os.path.exists(folder + '/cortado.pc')]
    os.environ['PKG_CONFIG_PATH'] = found[0]
    text = open(found[0] + '/cortado.pc').read()
    prefix = re.search('^prefix=(.*)$', text, re.M).group(1)
    flags = run('pkg-config', '--define-variable=prefix=' + place.path('there'), '--cflags', '--libs', 'cortado')
    assert prefix and '-lcortado' in flags.stdout, text
    run('cc', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-std=c99', source + '/examples/library/classify.c', '-o',
        'by_pkg_config', *flags.stdout.split())

def deploy():
    run(exe, 'train', '--solver=solver.prototxt', '--threads=1')
    run(exe, 'deploy', 'net.prototxt', '-o', 'deploy.prototxt')
    image = numpy.random.default_rng(1).integers(0, 256, (1, 1, 20, 20), dtype=numpy.uint8)
    image.tofile('image.raw')
    values = (image / 256).astype(numpy.float32)
    numpy.save('image.npy', values)
    run(exe, 'infer', '--model=deploy.prototxt', '--weights=snap_iter_20.caffemodel', '--input', 'data=image.npy',
        '--output', 'prob=scores.npy')
    return values, numpy.load('scores.npy')

def check_examples(library_folder, scores):
    os.environ['LD_LIBRARY_PATH'] = library_folder
    wanted = '%d %g\n' % (scores.argmax(), scores.max())
    for program in 'examples/classify_c', 'examples/classify', './by_pkg_config':
        got = run(program, 'deploy.prototxt', 'snap_iter_20.caffemodel', 'image.raw').stdout
        assert got == wanted, (program, got, wanted)
    wrong = open('deploy.prototxt').read().replace('num_output: 12', 'num_outputs: 12')
    place.write('wrong.prototxt', wrong)
    for program in 'examples/classify_c', 'examples/classify':
        said = run(program, 'wrong.prototxt', 'snap_iter_20.caffemodel', 'image.raw', code=3).stderr
        assert re.search(r'wrong.prototxt:\d+:\d+: ', said) and "num_output" in said, said
    print('examples classify as the program does:', wanted.strip())

def check_training():
    """Steps from C++ are the program's, to the byte, by the kernels that its snapshot names."""
    wanted = open('snap_iter_20.caffemodel', 'rb').read()
    for name in os.listdir('.'):
        if name.startswith('snap_iter_20.'): os.remove(name)
    text = run('examples/train', 'solver.prototxt', '10', 'loss').stdout
    assert re.search(r'^20 \d', text, re.M) and 'loss has 1 values in 0 axes' in text, text
    assert open('snap_iter_20.caffemodel', 'rb').read() == wanted, 'other weights'
    print('training from C++ gives the same bytes')

class Array(ctypes.Structure):
    _fields_ = [('values', ctypes.POINTER(ctypes.c_float)), ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('axes', ctypes.c_size_t)]

def check_threads(library, values, scores):
    """One predictor from memory, requests of their own in eight threads."""
    lib = ctypes.CDLL(library)
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
        if lib.cortado_request_set(request, b'data', None, shape, ctypes.c_size_t(4)) != 2: wrong.append('NULL taken')
        if lib.cortado_request_set(request, b'dota', images.ctypes.data_as(ctypes.c_void_p), shape, ctypes.c_size_t(4)):
            wrong.append('a name is looked at when the request runs')
        if lib.cortado_request_run(request) != 2 or b"'dota'" not in lib.cortado_last_error(): wrong.append('a name')
        lib.cortado_request_close(request)

    threads = [threading.Thread(target=ask, args=(1 + i % 3,)) for i in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not wrong, wrong[:3]
    lib.cortado_predictor_close(net)
    print('eight threads, one predictor: the same scores')

folders = install()
library = next(folder + '/libcortado.so' for folder in folders if os.path.exists(folder + '/libcortado.so'))
check_symbols(library)
build_examples(folders)
values, scores = deploy()
check_examples(os.path.dirname(library), scores)
check_training()
check_threads(library, values, scores)
