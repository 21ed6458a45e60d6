#!/usr/bin/python3
"""The module `cortado`: it computes what the program computes, and mistakes become exceptions.

    module.py CORTADO FOLDER_OF_THE_MODULE SOURCE
"""
import os, pathlib, signal, subprocess, sys, threading, time

exe, folder, source = (os.path.abspath(path) for path in sys.argv[1:4])
sys.path[:0] = [source + '/tests/cli', folder]
import numpy
import cortado
from workplace import Workplace

place = Workplace(exe, iters=20, snapshot=10, test_interval=100)
os.chdir(place.name)

def run(*command):
    done = subprocess.run([exe, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout

def raises(code, words, call):
    try: call()
    except cortado.Error as error:
        assert error.code == code and words in str(error), (error.code, str(error))
        assert isinstance(error, RuntimeError)
    else: raise AssertionError('nothing was raised: ' + words)

def check_predictor():
    image = numpy.random.default_rng(1).random((1, 1, 20, 20), dtype=numpy.float32)
    numpy.save('image.npy', image)
    run('infer', '--model=deploy.prototxt', '--weights=snap_iter_20.caffemodel', '--input', 'data=image.npy',
        '--output', 'prob=scores.npy')
    wanted = numpy.load('scores.npy')
    net = cortado.Predictor('deploy.prototxt', pathlib.Path('snap_iter_20.caffemodel'))
    assert net.inputs == {'data': (1, 1, 20, 20)} and net.outputs == {'prob': (1, 4)}, (net.inputs, net.outputs)
    assert numpy.array_equal(net.predict(data=image)['prob'], wanted)
    # Another type and order, and another batch.
    pair = numpy.asfortranarray(numpy.concatenate([image, image]).astype(numpy.float64))
    got = net.predict(data=pair)['prob']
    assert got.shape == (2, 4) and numpy.allclose(got, wanted, atol=1e-6)
    got[:] = 0  # it is the caller's
    other = cortado.Predictor('deploy.prototxt', ['snap_iter_20.caffemodel'], outputs=['fc', 'prob'], threads=1)
    assert other.predict(data=image)['fc'].shape == (1, 40)
    failures = []
    def ask():
        for _ in range(20):
            if not numpy.allclose(other.predict(data=image)['prob'], wanted, atol=1e-6): failures.append('scores')
    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert not failures
    raises(2, "'dota' is no input", lambda: net.predict(dota=image))
    raises(4, "'data' takes 1x1x20x20", lambda: net.predict(data=image[0]))
    raises(5, 'missing.prototxt', lambda: cortado.Predictor('missing.prototxt', 'snap_iter_20.caffemodel'))
    raises(2, 'no device', lambda: cortado.Predictor('deploy.prototxt', 'snap_iter_20.caffemodel', device='tpu'))
    raises(2, 'no weights', lambda: cortado.Predictor('deploy.prototxt'))
    place.write('wrong.prototxt', open('deploy.prototxt').read().replace('num_output: 12', 'num_outputs: 12'))
    raises(3, 'wrong.prototxt:', lambda: cortado.Predictor('wrong.prototxt', 'snap_iter_20.caffemodel'))

def check_solver():
    wanted = open('snap_iter_20.caffemodel', 'rb').read()
    os.remove('snap_iter_20.caffemodel')
    os.remove('snap_iter_20.solverstate')
    solver = cortado.Solver('solver.prototxt', snapshot='auto', threads=1)
    assert solver.iteration == 10
    assert solver.step(4) and solver.iteration == 14 and 0 < solver.loss < 5
    assert solver.blob('fc').shape == (16, 40)
    before = solver.params
    assert {name: [blob.shape for blob in blobs] for name, blobs in before.items()} == {
        'conv': [(12, 1, 5, 5), (12,)], 'fc': [(40, 768), (40,)], 'ip': [(4, 40), (4,)]}
    changed = before['conv'][0] + 1
    solver.set_param('conv', 0, changed)
    assert numpy.array_equal(solver.params['conv'][0], changed)
    solver.set_param('conv', 0, before['conv'][0])
    solver.run()
    assert solver.iteration == 20 and open('snap_iter_20.caffemodel', 'rb').read() == wanted, 'other weights'
    raises(4, 'has shape 12x1x5x5', lambda: solver.set_param('conv', 0, changed[:3]))
    raises(2, 'has weights', lambda: solver.set_param('pool', 0, changed))
    raises(2, "no blob 'fx'", lambda: solver.blob('fx'))
    raises(5, 'snapshot_prefix', lambda: cortado.Solver('solver.prototxt'))
    solver.close()
    raises(2, 'closed', solver.step)
    raises(3, 'wrong.prototxt', lambda: cortado.Solver('wrong_solver.prototxt'))
    with cortado.Solver('solver.prototxt') as again: assert again.iteration == 0

def check_interrupt():
    """Ctrl-C: KeyboardInterrupt, once an iteration is done; the training can go on."""
    place.solver(iters=10**6, snapshot=0, display=0, test_interval=10**6)
    solver = cortado.Solver('solver.prototxt', threads=1)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try: solver.step(10**6)
    except KeyboardInterrupt: pass
    else: raise AssertionError('not interrupted')
    assert 0 < solver.iteration < 10**6 and time.monotonic() - begin < 60
    done = solver.iteration
    assert solver.step(2) and solver.iteration == done + 2

run('train', '--solver=solver.prototxt', '--threads=1')
run('deploy', 'net.prototxt', '-o', 'deploy.prototxt')
check_predictor()
place.write('wrong_solver.prototxt', open('solver.prototxt').read().replace('net.prototxt', 'wrong.prototxt'))
check_solver()
check_interrupt()
print('well')
