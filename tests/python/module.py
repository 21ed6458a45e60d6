#!/usr/bin/python3
"""The module `cortado`: it computes what the program computes, and mistakes become exceptions.

    module.py CORTADO FOLDER_OF_THE_MODULE SOURCE
"""
import os, pathlib, shutil, signal, subprocess, sys, threading, time

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
    assert solver.net.blob('loss').shape == () and abs(solver.net.blob('loss') - solver.loss) < 1e-6
    raises(2, 'observe=True', lambda: solver.net.blob('fc'))
    before = solver.net.params
    assert {name: [blob.shape for blob in blobs] for name, blobs in before.items()} == {
        'conv': [(12, 1, 5, 5), (12,)], 'fc': [(40, 768), (40,)], 'ip': [(4, 40), (4,)]}
    changed = before['conv'][0] + 1
    solver.net.set_param('conv', 0, changed)
    assert numpy.array_equal(solver.net.param('conv', 0), changed)
    solver.net.set_param('conv', 0, before['conv'][0])
    solver.run()
    assert solver.iteration == 20 and open('snap_iter_20.caffemodel', 'rb').read() == wanted, 'other weights'
    raises(4, 'has shape 12x1x5x5', lambda: solver.net.set_param('conv', 0, changed[:3]))
    raises(2, 'has 0 weights', lambda: solver.net.set_param('pool', 0, changed))
    raises(2, "no blob 'fx'", lambda: solver.net.blob('fx'))
    raises(5, 'snapshot_prefix', lambda: cortado.Solver('solver.prototxt'))
    solver.close()
    raises(2, 'closed', solver.step)
    raises(3, 'wrong.prototxt', lambda: cortado.Solver('wrong_solver.prototxt'))
    with cortado.Solver('solver.prototxt') as again: assert again.iteration == 0

def check_observed():
    """Looking changes nothing; gradients are those of the update that follows."""
    def train(observe):
        for name in os.listdir(): 
            if name.startswith('snap'): shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
        with cortado.Solver('solver.prototxt', threads=1, observe=observe) as solver:
            solver.step(12)
            if observe: looked.append(solver.net.blob('fc').shape + solver.test_nets[0].blob('accuracy').shape)
            solver.step(3)
            return solver.net.params
    looked = []
    plain, observed = train(False), train(True)
    assert looked == [(16, 40)]
    for layer in plain:
        for a, b in zip(plain[layer], observed[layer]): assert numpy.array_equal(a, b), layer
    with cortado.Solver('solver.prototxt', observe=True) as solver:
        seen = []
        def look():
            seen.append((solver.net.param('ip', 1), solver.net.param_gradient('ip', 1)))
        solver.on_gradients(look)
        solver.step(1)
        (before, gradient), after = seen[0], solver.net.param('ip', 1)
        # The first step: no momentum yet; a bias has the solver's weight_decay, too.
        assert numpy.allclose(after, before - 0.01 * (gradient + 0.0005 * before), atol=1e-7)
        def fail(): raise ZeroDivisionError('the callback')
        solver.on_gradients(fail)
        try: solver.step(1)
        except ZeroDivisionError: pass
        else: raise AssertionError('the exception was lost')
        solver.on_gradients(None)
        assert solver.step(1)

def check_net():
    net = cortado.Net('net.prototxt', phase='TEST', seed=3)
    assert net.outputs == ['accuracy', 'loss'] and net.shape('fc') == (16, 40)
    loss = net.forward()
    assert abs(loss - float(net.blob('loss'))) < 1e-6
    net.save('own.caffemodel')
    other = cortado.Net('net.prototxt', 'own.caffemodel', seed=4)
    assert numpy.array_equal(other.param('fc', 0), net.param('fc', 0))
    other.share(net)
    net.set_param('fc', 1, numpy.arange(40))
    assert other.param('fc', 1)[39] == 39
    raises(2, 'is no input', lambda: net.reshape(fc=(3, 40)))
    raises(2, 'stands before', lambda: net.forward('ip', 'conv'))
    raises(3, 'wrong.prototxt', lambda: cortado.Net('wrong.prototxt'))
    raises(2, 'phase is', lambda: cortado.Net('net.prototxt', phase='BOTH'))
    raises(8, '12x1x5x5', lambda: cortado.Net(place.path('other.prototxt'), 'own.caffemodel'))

def check_files():
    data = cortado.Dataset('train_lmdb')
    assert len(data) == 300 and data[0][0].shape[1:] == (24, 24) and data[0][0].dtype == numpy.uint8
    assert len([label for _, label in data]) == 300 and data.key(-1) > data.key(0)
    raises(5, 'nowhere', lambda: cortado.Dataset('nowhere'))
    report = cortado.check('wrong.prototxt')
    assert not report[0]['ok'] and report[0]['mistakes'][0]['line'] > 0
    assert cortado.summary('deploy.prototxt')['blobs']['fc'] == [1, 40]
    assert 'Convolution' in cortado.layer_types()

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
place.write('other.prototxt', open('net.prototxt').read().replace('num_output: 12', 'num_output: 13'))
check_observed()
check_net()
check_files()
check_interrupt()
print('well')
