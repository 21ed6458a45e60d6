"""Python layers as objects in a script: the same objects that compute, with their state."""
import gc, sys, time

import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe

MODULE = '''import caffe

class Scale(caffe.Layer):
    def setup(self, bottom, top):
        self.seen, self.factor = [], 2
        self.blobs.add_blob(3)
        self.blobs[0].data[...] = 1

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        self.seen.append(float(bottom[0].data.sum()))
        top[0].data[...] = self.factor * self.blobs[0].data * bottom[0].data

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += self.factor * (top[0].diff * bottom[0].data).sum(0)
        bottom[0].diff[...] = self.factor * self.blobs[0].data * top[0].diff


class Plain:
    """Not derived from Layer, and false."""
    type = property(lambda self: 1 / 0)
    def __len__(self): return 0
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top): top[0].data[...] = bottom[0].data
    def backward(self, top, propagate_down, bottom): bottom[0].diff[...] = top[0].diff
'''
NET = '''force_backward: true
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "scale" type: "Python" bottom: "x" top: "y" python_param { module: "written" layer: "Scale" } }
layer { name: "relu" type: "ReLU" bottom: "y" top: "y" }
layer { name: "plain" type: "Python" bottom: "y" top: "z" python_param { module: "written" layer: "Plain" } }
'''


@pytest.fixture
def net(folder, monkeypatch):
    (folder / 'written.py').write_text(MODULE)
    (folder / 'net').write_text(NET)
    monkeypatch.syspath_prepend(folder)
    yield caffe.Net('net', caffe.TRAIN)
    sys.modules.pop('written', None)


def test_layers_are_the_users_objects(net):
    layer = net.layers[1]
    written = sys.modules['written']
    assert type(layer) is written.Scale and isinstance(layer, caffe.Layer) and layer.type == 'Python'
    assert net.layer_dict['scale'] is layer and type(net.layers[3]) is written.Plain
    assert [net.layers[i].type for i in (0, 2)] == ['Input', 'ReLU']
    net.forward(x=np.ones((2, 3)))
    assert layer.seen == [6]
    layer.factor = 5
    assert (net.forward()['z'] == 5).all()


def test_object_stays_when_the_net_is_rebuilt(net):
    layer = net.layers[1]
    layer.factor = 3
    net.blobs['x'].reshape(4, 3)
    assert (net.forward(x=np.ones((4, 3)))['z'] == 3).all() and layer.seen == [12]
    other = caffe.Net('net', caffe.TRAIN)
    other.params['scale'][0].data[...] = 10
    net.share_with(other)
    assert (net.forward()['z'] == 30).all() and net.layers[1] is layer and layer.seen == [12, 12]
    assert other.layers[1] is not layer and other.layers[1].factor == 2
    net.backward(z=np.ones((4, 3)))
    assert (net.params['scale'][0].diff == 12).all()


def test_backward_comes_first(net):
    assert (net.backward(z=np.ones((2, 3)))['x'] == 0).all()  # the ReLU has seen zeros
    assert (net.params['scale'][0].diff == 0).all()
    net.backward(start='scale')
    assert net.layers[1].seen == []
    net.forward(x=np.ones((2, 3)))
    assert (net.backward(z=np.ones((2, 3)))['x'] == 2).all()


def test_object_outlives_its_net(net, folder):
    own = caffe.Net('net', caffe.TRAIN)
    own.forward(x=np.ones((2, 3)))
    layer = own.layers[1]
    del own
    gc.collect()
    assert layer.seen == [6] and layer.blobs[0].shape == (3,) and layer.blobs[0].data.sum() == 0


def test_objects_of_a_solver(net, folder):
    (folder / 'train').write_text(NET + '''
layer { name: "loss" type: "EuclideanLoss" bottom: "z" bottom: "x" top: "loss" }''')
    (folder / 'solver').write_text('net: "train" base_lr: 0.1 lr_policy: "fixed" max_iter: 9 test_iter: 1 '
                                   'test_interval: 9 snapshot_prefix: "snap" random_seed: 1')
    solver = caffe.SGDSolver('solver')
    layer = solver.net.layers[1]
    solver.net.blobs['x'].data[...] = 1
    solver.step(1)
    assert layer.seen == [6] and solver.test_nets[0].layers[1] is not layer
    assert layer.phase == caffe.TRAIN and solver.test_nets[0].layers[1].phase == caffe.TEST


def test_graph_by_indices(net, folder):
    assert net._layer_names == ['in', 'scale', 'relu', 'plain'] and net._blob_names == ['x', 'y', 'z']
    assert [net._bottom_ids(i) for i in range(4)] == [[], [0], [1], [1]]
    assert [net._top_ids(i) for i in range(4)] == [[0], [1], [1], [2]]
    assert net._inputs == [0] and net._outputs == [2]
    with pytest.raises(IndexError): net._top_ids(4)


def test_weights_of_losses(net, folder):
    (folder / 'lossy').write_text(NET + '''
layer { name: "loss" type: "EuclideanLoss" bottom: "z" bottom: "x" top: "loss" loss_weight: 0.5 }
layer { name: "sum" type: "Reduction" bottom: "z" top: "sum" loss_weight: 2 }
layer { name: "plain loss" type: "EuclideanLoss" bottom: "z" bottom: "x" top: "one" }''')
    lossy = caffe.Net('lossy', caffe.TRAIN)
    assert dict(lossy.blob_loss_weights) == {'x': 0, 'y': 0, 'z': 0, 'loss': 0.5, 'sum': 2, 'one': 1}
    assert list(lossy.blob_loss_weights) == lossy._blob_names and lossy._blob_loss_weights[3:] == [0.5, 2, 1]


def test_timer():
    timer = caffe.Timer()
    assert timer.ms == 0
    timer.start()
    time.sleep(0.02)
    assert 20 <= timer.ms == timer.us / 1000 and timer.ms == pytest.approx(1000 * timer.seconds)
    timer.start()
    timer.stop()
    assert timer.ms < 20
