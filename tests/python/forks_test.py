"""Children of fork(), as multiprocessing and servers with preloading make them, use nets of their parent."""
import multiprocessing, os, signal, subprocess, sys

import numpy as np
import pytest

from tests.cli import fixtures
from tests.python.built_module import use_built_module

use_built_module()
import caffe, cortado

NET = '''layer { name: "d" type: "Data" top: "x" top: "y" data_param { source: "train_lmdb" batch_size: 8 threads: 2 }
  transform_param { crop_size: 6 mirror: true scale: 0.004 } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 4 kernel_size: 3
  weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "c" top: "ip" inner_product_param { num_output: 4
  weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }
'''
DEPLOY = '''layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 dim: 32 dim: 32 } } }
layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 16 kernel_size: 3
  weight_filler { type: "xavier" } } }
'''
IMAGES = np.random.RandomState(0).rand(4, 3, 32, 32).astype(np.float32)


def in_child(work):
    """What work() returns in a child of fork(), by a pipe; the child ends as a program does."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            os.write(there, repr(work()).encode())
        except BaseException as error:
            os.write(there, ('%s: %s' % (type(error).__name__, error)).encode()[:4000])
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as file: text = file.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0, (os.WTERMSIG(status), text)
    return text


@pytest.fixture
def solver(folder, cortado, monkeypatch):
    monkeypatch.setenv('PATH', os.path.dirname(os.path.abspath(cortado)), prepend=os.pathsep)
    fixtures.lmdb('train_lmdb')
    (folder / 'net').write_text(NET)
    (folder / 'solver').write_text('net: "net" base_lr: 0.01 lr_policy: "fixed" max_iter: 20 random_seed: 1 '
                                   'snapshot_prefix: "snaps/snap"\n')
    return caffe.get_solver('solver')


def test_nets_and_predictors(folder):
    (folder / 'net').write_text(DEPLOY)
    net = caffe.Net('net', caffe.TEST)
    net.save('weights.caffemodel')
    net.blobs['x'].data[...] = IMAGES
    expected = net.forward()['c'].copy()
    predictor = cortado.Predictor('net', 'weights.caffemodel', threads=2)
    assert np.allclose(predictor.predict(x=IMAGES)['c'], expected, atol=1e-5)
    for work in (lambda: net.forward()['c'], lambda: predictor.predict(x=IMAGES)['c'],
                 lambda: cortado.Predictor('net', 'weights.caffemodel', threads=2).predict(x=IMAGES)['c']):
        assert in_child(lambda: bool(np.allclose(work(), expected, atol=1e-5))) == 'True'
    assert np.array_equal(net.forward()['c'], expected)


def features(seed):
    NETS[0].blobs['x'].data[...] = seed
    return float(NETS[0].forward()['c'].sum())


NETS = []


def test_pool_of_workers(folder):
    (folder / 'net').write_text(DEPLOY)
    NETS[:] = [caffe.Net('net', caffe.TEST)]
    expected = [features(seed) for seed in range(6)]
    with multiprocessing.get_context('fork').Pool(2) as pool:
        assert pool.map_async(features, range(6)).get(60) == expected


def test_training_goes_on_with_the_next_batch(solver):
    """The data threads of the parent do not exist in the child, which reads the dataset by threads of its own."""
    def next_steps():
        losses = []
        for _ in range(5):
            solver.step(1)
            losses.append(float(solver.net.blobs['loss'].data))
        return losses

    solver.step(3)
    seen = in_child(next_steps)
    assert seen == repr(next_steps())


LEAVING = '''import gc, os, signal, sys
import caffe
solver = caffe.get_solver('solver')
solver.step(1)
solver.snapshot()
files = set(os.listdir('snaps'))
child = os.fork()
if child == 0:
    signal.alarm(30)
    del solver
    gc.collect()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0, 'the child does not end'
assert set(os.listdir('snaps')) == files, (files, os.listdir('snaps'))
solver.step(1)
solver.snapshot()
'''


def test_an_ending_child_leaves_the_training(solver):
    """It does not wait for threads of the parent, nor remove the parent's lock of snapshots."""
    del solver
    run = subprocess.run([sys.executable, '-c', LEAVING], capture_output=True, text=True, timeout=100,
                         env=dict(os.environ, PYTHONPATH=os.environ['CORTADO_BUILD'] + '/python'))
    assert run.returncode == 0, run.stderr[-2000:]
