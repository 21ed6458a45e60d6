"""The module `cortado` computes the same as the program, and raises errors as exceptions."""
import concurrent.futures, contextlib, os, pathlib, re, signal, threading, time

import numpy
import pytest

from tests.cli.workplace import SOLVER
from tests.python.built_module import use_built_module

use_built_module()
import cortado


@pytest.fixture(scope='module')
def trained(run, training_folder):
    """A folder with a trained net, its deploy net, and nets and a solver with errors."""
    place = training_folder(iters=20, snapshot=10, test_interval=100)
    run('train', '--solver=solver.prototxt', '--threads=1', cwd=place.name)
    run('deploy', 'net.prototxt', '-o', 'deploy.prototxt', cwd=place.name)
    for name, made, old, new in (('deploy', 'wrong', 'num_output: 12', 'num_outputs: 12'),
                                 ('solver', 'wrong_solver', 'net.prototxt', 'wrong.prototxt'),
                                 ('net', 'other', 'num_output: 12', 'num_output: 13')):
        text = pathlib.Path(place.path(name + '.prototxt')).read_text()
        place.write(made + '.prototxt', text.replace(old, new))
    return place.name


@contextlib.contextmanager
def mistake(code, words):
    with pytest.raises(cortado.Error, match=re.escape(words)) as caught: yield
    assert caught.value.code == code and isinstance(caught.value, RuntimeError)


@pytest.fixture
def image():
    return numpy.random.default_rng(1).random((1, 1, 20, 20), dtype=numpy.float32)


@pytest.fixture
def wanted(image, place, run):
    """The program's scores for the image."""
    numpy.save('image.npy', image)
    run('infer', '--model=deploy.prototxt', '--weights=snap_iter_20.caffemodel', '--input', 'data=image.npy',
        '--output', 'prob=scores.npy')
    return numpy.load('scores.npy')


def test_predictor_computes_what_the_program_does(image, wanted):
    net = cortado.Predictor('deploy.prototxt', pathlib.Path('snap_iter_20.caffemodel'))
    assert net.inputs == {'data': (1, 1, 20, 20)} and net.outputs == {'prob': (1, 4)}
    assert numpy.array_equal(net.predict(data=image)['prob'], wanted)
    # Another type and order, and another batch.
    pair = numpy.asfortranarray(numpy.concatenate([image, image]).astype(numpy.float64))
    got = net.predict(data=pair)['prob']
    assert got.shape == (2, 4) and numpy.allclose(got, wanted, atol=1e-6)
    got[:] = 0  # the array belongs to the caller


def test_threads_share_a_predictor(image, wanted):
    net = cortado.Predictor('deploy.prototxt', ['snap_iter_20.caffemodel'], outputs=['fc', 'prob'], threads=1)
    assert net.predict(data=image)['fc'].shape == (1, 40)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for got in pool.map(lambda _: net.predict(data=image)['prob'], range(120)):
            assert numpy.allclose(got, wanted, atol=1e-6)


def test_errors_of_a_predictor(image, place):
    net = cortado.Predictor('deploy.prototxt', 'snap_iter_20.caffemodel')
    with mistake(2, "'dota' is not an input"): net.predict(dota=image)
    with mistake(4, "'data' expects 1x1x20x20"): net.predict(data=image[0])
    with mistake(5, 'missing.prototxt'): cortado.Predictor('missing.prototxt', 'snap_iter_20.caffemodel')
    with mistake(2, 'unknown device'): cortado.Predictor('deploy.prototxt', 'snap_iter_20.caffemodel', device='tpu')
    with mistake(2, 'no weights'): cortado.Predictor('deploy.prototxt')
    with mistake(3, 'wrong.prototxt:'): cortado.Predictor('wrong.prototxt', 'snap_iter_20.caffemodel')


def test_solver_resumes_from_a_snapshot_to_the_same_weights(place, run):
    weights = place / 'snap_iter_20.caffemodel'
    wanted = weights.read_bytes()
    weights.unlink()
    (place / 'snap_iter_20.solverstate').unlink()
    solver = cortado.Solver('solver.prototxt', snapshot='auto', threads=1)
    assert solver.iteration == 10
    assert solver.step(4) and solver.iteration == 14 and 0 < solver.loss < 5
    assert solver.net.blob('loss').shape == () and abs(solver.net.blob('loss') - solver.loss) < 1e-6
    with mistake(2, 'observe=True'): solver.net.blob('fc')
    before = solver.net.params
    assert {name: [blob.shape for blob in blobs] for name, blobs in before.items()} == {
        'conv': [(12, 1, 5, 5), (12,)], 'fc': [(40, 768), (40,)], 'ip': [(4, 40), (4,)]}
    changed = before['conv'][0] + 1
    solver.net.set_param('conv', 0, changed)
    assert numpy.array_equal(solver.net.param('conv', 0), changed)
    solver.net.set_param('conv', 0, before['conv'][0])
    solver.run()
    assert solver.iteration == 20 and weights.read_bytes() == wanted, 'other weights'
    with mistake(4, 'has shape 12x1x5x5'): solver.net.set_param('conv', 0, changed[:3])
    with mistake(2, 'has 0 weights'): solver.net.set_param('pool', 0, changed)
    with mistake(2, "no blob 'fx'"): solver.net.blob('fx')
    assert 'snapshot_prefix' in run('train', '--solver=solver.prototxt', code=5).stderr
    solver.close()
    with mistake(2, 'closed'): solver.step()
    with cortado.Solver('solver.prototxt') as again: assert again.iteration == 0


def test_error_in_the_net_of_a_solver(place):
    with mistake(3, 'wrong.prototxt'): cortado.Solver('wrong_solver.prototxt')


def test_observing_changes_nothing(place):
    def train(observe):
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


def test_gradients_are_those_of_the_update_that_follows(place):
    with cortado.Solver('solver.prototxt', observe=True) as solver:
        seen = []
        solver.on_gradients(lambda: seen.append((solver.net.param('ip', 1), solver.net.param_gradient('ip', 1))))
        solver.step(1)
        (before, gradient), after = seen[0], solver.net.param('ip', 1)
        # The first step: no momentum yet; a bias has the solver's weight_decay, too.
        assert numpy.allclose(after, before - 0.01 * (gradient + 0.0005 * before), atol=1e-7)


def test_exception_of_a_callback_reaches_the_caller(place):
    def fail(): raise ZeroDivisionError('the callback')
    with cortado.Solver('solver.prototxt', observe=True) as solver:
        solver.on_gradients(fail)
        with pytest.raises(ZeroDivisionError): solver.step(1)
        solver.on_gradients(None)
        assert solver.step(1)


def test_net(place):
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
    with mistake(2, 'is not an input'): net.reshape(fc=(3, 40))
    with mistake(2, 'is before'): net.forward('ip', 'conv')
    with mistake(3, 'wrong.prototxt'): cortado.Net('wrong.prototxt')
    with mistake(2, 'phase must be'): cortado.Net('net.prototxt', phase='BOTH')
    with mistake(8, '12x1x5x5'): cortado.Net(str(place / 'other.prototxt'), 'own.caffemodel')


def test_dataset(place):
    data = cortado.Dataset('train_lmdb')
    assert len(data) == 300 and data[0][0].shape[1:] == (24, 24) and data[0][0].dtype == numpy.uint8
    assert len([label for _, label in data]) == 300 and data.key(-1) > data.key(0)
    with mistake(5, 'nowhere'): cortado.Dataset('nowhere')


def test_check_summary_and_layer_types(place):
    report = cortado.check('wrong.prototxt')
    assert not report[0]['ok'] and report[0]['mistakes'][0]['line'] > 0
    assert cortado.summary('deploy.prototxt')['blobs']['fc'] == [1, 40]
    assert 'Convolution' in cortado.layer_types()


def test_ctrl_c_interrupts_after_an_iteration(place):
    """The training can continue."""
    (place / 'solver.prototxt').write_text(SOLVER % dict(iters=10**6, snapshot=0, display=0, test_interval=10**6))
    solver = cortado.Solver('solver.prototxt', threads=1)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt): solver.step(10**6)
    assert 0 < solver.iteration < 10**6 and time.monotonic() - begin < 60
    done = solver.iteration
    assert solver.step(2) and solver.iteration == done + 2
