"""pycaffe scripts run on the module `caffe`, and see the program's results."""
import sys

import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe, cortado
from caffe import layers as L, params as P
from caffe.proto import caffe_pb2
from google.protobuf import text_format


@pytest.fixture(scope='module')
def trained(run, training_folder):
    """A folder with a trained net, and its deploy net."""
    place = training_folder(iters=20, snapshot=10, test_interval=100)
    run('train', '--solver=solver.prototxt', cwd=place.name)
    run('deploy', 'net.prototxt', '-o', 'deploy.prototxt', cwd=place.name)
    return place.name


def n_input(): return L.Input(shape=dict(dim=[1, 3, 32, 32]))


def conv_net(height, width, make_fc, name):
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 1, height, width]))
    n.conv = L.Convolution(n.data, kernel_size=3, num_output=4, weight_filler=dict(type='xavier'))
    n.pool = L.Pooling(n.conv, kernel_size=2, stride=2, pool=P.Pooling.MAX)
    n[name] = make_fc(n.pool)
    n.prob = L.Softmax(n[name])
    return str(n.to_proto())


SMALL = conv_net(12, 12, lambda pool: L.InnerProduct(pool, num_output=5, weight_filler=dict(type='xavier')), 'fc')


@pytest.fixture
def draws():
    return np.random.default_rng(1)


def test_classification(draws, place, run):
    """The notebook on classification: a Transformer, a batch of another size, features, weights."""
    caffe.set_mode_cpu()
    net = caffe.Net('deploy.prototxt', 'snap_iter_20.caffemodel', caffe.TEST)
    assert net.inputs == ['data'] and net.outputs == ['prob']
    mean = np.array([30.0])
    transformer = caffe.io.Transformer({'data': net.blobs['data'].data.shape})
    transformer.set_transpose('data', (2, 0, 1))
    transformer.set_mean('data', mean)
    transformer.set_raw_scale('data', 255)
    transformer.set_input_scale('data', 1 / 256.)
    net.blobs['data'].reshape(5, 1, 20, 20)
    image = draws.random((20, 20, 1)).astype(np.float32)
    ready = transformer.preprocess('data', image)
    assert np.allclose(ready, (image.transpose(2, 0, 1) * 255 - 30) / 256, atol=1e-5)
    net.blobs['data'].data[...] = ready
    output = net.forward()
    np.save('image.npy', ready[None])
    run('infer', '--model=deploy.prototxt', '--weights=snap_iter_20.caffemodel', '--input', 'data=image.npy',
        '--output', 'prob=scores.npy')
    wanted = np.load('scores.npy')[0]
    assert output['prob'].shape == (5, 4) and np.allclose(output['prob'], wanted, atol=1e-5)
    assert output['prob'][0].argmax() == wanted.argmax()
    assert [(name, blob.data.shape) for name, blob in net.blobs.items()][1] == ('conv', (5, 12, 16, 16))
    assert net.params['conv'][0].data.shape == (12, 1, 5, 5) and net.blobs['fc'].count == 200
    assert [layer.type for layer in net.layers][:2] == ['Input', 'Convolution'] and net.layer_dict['ip'].type
    assert net.top_names['conv'] == ['conv'] and net.bottom_names['conv'] == ['data']
    many = draws.random((12, 1, 20, 20)).astype(np.float32)
    everything = net.forward_all(data=many, blobs=['fc'])
    assert everything['prob'].shape == (12, 4) and everything['fc'].shape == (12, 40)
    one = net.forward(data=many[5:10])
    assert np.allclose(one['prob'], everything['prob'][5:10], atol=1e-6)
    with pytest.raises(Exception, match='inputs are'): net.forward(image=many)
    with pytest.raises(Exception, match='a batch of 5'): net.forward(data=many)


def test_transformer_swaps_channels_and_back(draws):
    colour = caffe.io.Transformer({'data': (1, 3, 4, 5)})
    colour.set_transpose('data', (2, 0, 1))
    colour.set_channel_swap('data', (2, 1, 0))
    colour.set_mean('data', np.array([1, 2, 3]))
    pixels = draws.random((4, 5, 3)).astype(np.float32)
    assert np.allclose(colour.preprocess('data', pixels)[0], pixels[:, :, 2] - 1, atol=1e-6)
    assert np.allclose(colour.deprocess('data', colour.preprocess('data', pixels)), pixels, atol=1e-6)


def test_arrays_are_views_of_the_net(draws, place):
    """Arrays are views while a script holds them, and stay readable when the net's shapes change."""
    net = caffe.Net('deploy.prototxt', caffe.TEST, weights='snap_iter_20.caffemodel')
    data, scores = net.blobs['data'].data, net.blobs['prob'].data
    row = net.blobs['fc'].data[0]
    data[...] = draws.random(data.shape)
    net.forward()
    before, row_before = scores.copy(), row.copy()
    assert before.sum() > 0.99 and row_before.any()
    data[...] = draws.random(data.shape)
    net.forward()
    assert (scores != before).any() and (row != row_before).any() and net.blobs['prob'].data is scores
    net.blobs['data'].reshape(3, 1, 20, 20)
    assert net.blobs['data'].data.shape == (3, 1, 20, 20) and data.shape == (1, 1, 20, 20)
    net.reshape()
    assert net.blobs['fc'].data.shape == (3, 40) and abs(scores.sum() - 1) < 1e-5
    with pytest.raises(ValueError, match='is not an input'): net.blobs['fc'].reshape(4, 40)
    with pytest.raises(ValueError, match='broadcast'): net.blobs['data'].data.__setitem__(Ellipsis, np.ones(7))
    # An intermediate blob may be set, and the rest of the net run on it.
    net.forward()
    half = net.blobs['fc'].data.copy()
    net.blobs['fc'].data[...] = 0
    net.forward(start='ip')
    assert np.allclose(net.blobs['prob'].data, np.exp(net.params['ip'][1].data) /
                       np.exp(net.params['ip'][1].data).sum(), atol=1e-6)
    net.forward(start='conv', end='fc')
    assert np.allclose(net.blobs['fc'].data, half, atol=1e-6)


def test_gradients(draws, place):
    """The gradient of a score with respect to the image, against finite differences."""
    (place / 'saliency.prototxt').write_text('force_backward: true\n' + (place / 'deploy.prototxt').read_text())
    net = caffe.Net('saliency.prototxt', 'snap_iter_20.caffemodel', caffe.TEST)
    image = draws.random((1, 1, 20, 20)).astype(np.float32)
    net.forward(data=image)
    wanted = np.zeros((1, 4), np.float32)
    wanted[0, 2] = 1
    gradient = net.backward(prob=wanted)['data'].copy()
    for at in ((0, 0, 3, 4), (0, 0, 10, 11), (0, 0, 19, 0)):
        sides = []
        for side in (0.02, -0.02):
            moved = image.copy()
            moved[at] += side
            sides.append(float(net.forward(data=moved)['prob'][0, 2]))
        assert abs((sides[0] - sides[1]) / 0.04 - gradient[at]) < 2e-4 + 0.05 * abs(gradient[at]), at
    # From an intermediate layer, as in feature visualization.
    net.forward(data=image)
    net.blobs['conv'].diff[...] = net.blobs['conv'].data
    net.backward(start='conv')
    assert net.blobs['data'].diff.any() and not np.allclose(net.blobs['data'].diff, gradient)
    # Gradients of weights accumulate until they are cleared.
    net.clear_param_diffs()
    net.forward(data=image)
    net.backward(prob=wanted)
    once = net.params['ip'][0].diff.copy()
    net.backward(prob=wanted)
    assert once.any() and np.allclose(net.params['ip'][0].diff, 2 * once, rtol=1e-5)
    net.clear_param_diffs()
    assert not net.params['ip'][0].diff.any()
    both = net.forward_backward_all(data=np.repeat(image, 3, 0), prob=np.repeat(wanted, 3, 0))
    assert both[0]['prob'].shape == (3, 4) and np.allclose(both[1]['data'][2], gradient[0], atol=1e-6)


def test_solver(place):
    """The notebook on training LeNet: steps, inspection of blobs and gradients, manual tests, bits equal to the
    program's."""
    weights = place / 'snap_iter_20.caffemodel'
    wanted = weights.read_bytes()
    for path in place.glob('snap*'): path.unlink()
    solver = caffe.SGDSolver('solver.prototxt')
    assert [(name, blob.data.shape) for name, blob in solver.net.blobs.items()][2] == ('conv', (16, 12, 16, 16))
    assert solver.iter == 0 and solver.param.base_lr == np.float32(0.01) and solver.param.type == 'SGD'
    losses, test_scores = [], []
    for iteration in range(20):
        solver.step(1)
        losses.append(float(solver.net.blobs['loss'].data))
        if iteration % 10 == 0:
            solver.test_nets[0].forward(start='conv')
            test_scores.append(solver.test_nets[0].blobs['ip'].data[:8].copy())
    assert solver.iter == 20 and abs(solver.lr - 0.01) < 1e-8
    assert solver.net.params['conv'][0].diff.any() and solver.net.blobs['fc'].diff.shape == (16, 40)
    assert test_scores[0].shape == (8, 4)
    assert weights.read_bytes() == wanted, 'inspection changed the weights'
    solver.restore('snap_iter_10.solverstate')
    assert solver.iter == 10
    weights.unlink()
    solver.solve()
    assert weights.read_bytes() == wanted
    solver.net.params['ip'][1].data[...] = 7
    solver.snapshot()
    assert np.allclose(caffe.Net('deploy.prototxt', 'snap_iter_20.caffemodel', caffe.TEST).params['ip'][1].data, 7)
    with pytest.raises(RuntimeError, match="not 'Adam'"): caffe.AdamSolver('solver.prototxt')
    solver._solver.close()


def test_callbacks(place):
    solver = caffe.get_solver('solver.prototxt')
    told = []
    def ready():
        told.append(('gradients', solver.net.params['ip'][1].diff.copy()))
        for weights in solver.net.params.values():
            for blob in weights: blob.diff[...] = 0
    solver.add_callback(lambda: told.append('start'), ready)
    place_before = solver.net.params['ip'][1].data.copy()
    solver.step(2)
    assert [each if each == 'start' else each[0] for each in told] == ['start', 'gradients'] * 2
    assert told[1][1].any()
    # Only weight decay remains, with two rates.
    assert np.allclose(solver.net.params['ip'][1].data, place_before, atol=1e-3)
    solver._solver.close()


def test_net_surgery(draws, place):
    """The notebook on net surgery: a fully connected layer becomes a convolution, which classifies every position."""
    (place / 'small.prototxt').write_text(SMALL)
    (place / 'everywhere.prototxt').write_text(conv_net(18, 20, lambda pool: L.Convolution(
        pool, num_output=5, kernel_size=5), 'fc-conv'))
    small = caffe.Net('small.prototxt', caffe.TEST)
    small.save('small.caffemodel')
    everywhere = caffe.Net('everywhere.prototxt', 'small.caffemodel', caffe.TEST)
    everywhere.params['fc-conv'][0].data.flat = small.params['fc'][0].data.flat
    everywhere.params['fc-conv'][1].data[...] = small.params['fc'][1].data
    everywhere.save('everywhere.caffemodel')
    image = draws.random((1, 1, 18, 20)).astype(np.float32)
    whole = everywhere.forward_all(data=image)['prob']
    assert whole.shape == (1, 5, 4, 5)
    for y, x in ((0, 0), (2, 3), (3, 4)):
        part = small.forward(data=image[:, :, 2 * y:2 * y + 12, 2 * x:2 * x + 12])['prob'][0]
        assert np.allclose(whole[0, :, y, x], part, atol=1e-5), (y, x)
    again = caffe.Net('everywhere.prototxt', 'everywhere.caffemodel', caffe.TEST)
    assert np.array_equal(again.forward(data=image)['prob'], whole)
    shared = caffe.Net('everywhere.prototxt', caffe.TEST)
    shared.share_with(again)
    again.params['fc-conv'][1].data[...] += 1
    again.forward(data=image)
    assert np.array_equal(shared.params['fc-conv'][1].data, again.params['fc-conv'][1].data)
    again.save_hdf5('everywhere.h5')
    shared = caffe.Net('everywhere.prototxt', caffe.TEST)
    shared.load_hdf5('everywhere.h5')
    assert np.array_equal(shared.params['conv'][0].data, again.params['conv'][0].data)


def test_files_have_the_kind_of_the_method(folder):
    """save() and save_hdf5(), whatever the name; reading goes by the content."""
    (folder / 'small').write_text(SMALL)
    net = caffe.Net('small', caffe.TEST)
    net.params['fc'][1].data[...] = 9
    for name in ('w', 'w.h5', 'w.hdf5', 'w.caffemodel'):
        for save, hdf5 in ((net.save_hdf5, True), (net.save, False)):
            save(name)
            with open(name, 'rb') as file: assert (file.read(8) == b'\x89HDF\r\n\x1a\n') == hdf5, name
            for load in ('load_hdf5', 'copy_from'):
                again = caffe.Net('small', caffe.TEST)
                getattr(again, load)(name)
                assert (again.params['fc'][1].data == 9).all(), name


def test_net_spec(place):
    """A net written in Python trains."""
    def lenet(batch_size, phase):
        n = caffe.NetSpec()
        n.data, n.label = L.Data(batch_size=batch_size, backend=P.Data.LMDB, source='train_lmdb',
                                 transform_param=dict(scale=1. / 255), ntop=2)
        n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=6, weight_filler=dict(type='xavier'),
                                param=[dict(lr_mult=1), dict(lr_mult=2)])
        n.pool1 = L.Pooling(n.conv1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
        n.relu1 = L.ReLU(n.pool1, in_place=True)
        n.score = L.InnerProduct(n.relu1, num_output=4, weight_filler=dict(type='xavier'))
        n.loss = L.SoftmaxWithLoss(n.score, n.label)
        if phase == caffe.TEST: n.accuracy = L.Accuracy(n.score, n.label)
        return n.to_proto()
    message = lenet(8, caffe.TEST)
    assert [layer.name for layer in message.layer] == ['data', 'conv1', 'pool1', 'relu1', 'score', 'loss', 'accuracy']
    assert list(message.layer[3].top) == ['pool1'] and message.layer[1].param[1].lr_mult == 2
    assert message.layer[0].data_param.backend == caffe_pb2.DataParameter.LMDB
    (place / 'spec_train.prototxt').write_text(str(lenet(16, caffe.TRAIN)))
    (place / 'spec_test.prototxt').write_text(str(message))
    (place / 'spec_solver.prototxt').write_text(
        'train_net: "spec_train.prototxt" test_net: "spec_test.prototxt" test_iter: 2 test_interval: 100 base_lr: 0.05 '
        'lr_policy: "fixed" momentum: 0.9 max_iter: 60 snapshot: 0 snapshot_prefix: "spec" random_seed: 1 '
        'solver_mode: CPU type: "Adam" delta: 1e-8 momentum2: 0.999')
    solver = caffe.AdamSolver('spec_solver.prototxt')
    solver.step(1)
    first = float(solver.net.blobs['loss'].data)
    solver.step(39)
    assert float(solver.net.blobs['loss'].data) < first
    solver._solver.close()


def test_names_and_errors_of_net_spec():
    automatic = caffe.to_proto(L.ReLU(L.Convolution(n_input(), num_output=2, kernel_size=3)))
    assert [layer.name for layer in automatic.layer] == ['Input1', 'Convolution1', 'ReLU1']
    with pytest.raises(AttributeError, match="no field 'nonsense'"): L.ReLU(n_input(), nonsense=1).to_proto()
    with pytest.raises(TypeError, match='is not a blob'): L.ReLU('data')
    for kind, options in cortado.layer_options().items():  # each type's options reach its own message
        field = caffe_pb2.LayerParameter.DESCRIPTOR.fields_by_name.get(options)
        for option in field.message_type.fields if field else []:
            if option.cpp_type == option.CPPTYPE_UINT32 and option.label != option.LABEL_REPEATED:
                layer = getattr(L, kind)(n_input(), **{option.name: 3}).to_proto().layer[1]
                own = getattr(layer, options)
                assert getattr(own[0] if field.label == field.LABEL_REPEATED else own, option.name) == 3, kind
    n = caffe.NetSpec()
    n.data = n_input()
    n.silence = L.Silence(n.data, ntop=0)
    assert [layer.type for layer in n.to_proto().layer] == ['Input', 'Silence']


def test_memory_data(draws, place):
    (place / 'memory.prototxt').write_text(
        'layer { name: "data" type: "MemoryData" top: "data" top: "label" '
        'memory_data_param { batch_size: 4 channels: 1 height: 2 width: 3 } }\n'
        'layer { name: "sum" type: "Reduction" bottom: "data" top: "sum" reduction_param { axis: 1 } }')
    net = caffe.Net('memory.prototxt', caffe.TEST)
    data = draws.random((8, 1, 2, 3)).astype(np.float32)
    net.set_input_arrays(data, np.arange(8))
    for first in (0, 4, 0):
        assert np.allclose(net.forward()['sum'], data[first:first + 4].sum((1, 2, 3)), atol=1e-6)
        assert (net.blobs['label'].data.ravel() == np.arange(first, first + 4)).all()
    with pytest.raises(ValueError, match='a multiple'): net.set_input_arrays(data[:7], np.arange(7))


def test_python_layers(draws, monkeypatch, place):
    """A Python layer in a net that a script inspects: one interpreter, one module caffe."""
    (place / 'two.py').write_text(
        'import caffe\n\nclass Twice(caffe.Layer):\n    def setup(self, bottom, top): pass\n'
        '    def reshape(self, bottom, top): top[0].reshape(*bottom[0].data.shape)\n'
        '    def forward(self, bottom, top): top[0].data[...] = 2 * bottom[0].data\n'
        '    def backward(self, top, propagate_down, bottom): bottom[0].diff[...] = 2 * top[0].diff\n')
    (place / 'python.prototxt').write_text(
        'force_backward: true\n'
        'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }\n'
        'layer { name: "twice" type: "Python" bottom: "data" top: "twice" '
        'python_param { module: "two" layer: "Twice" } }')
    monkeypatch.syspath_prepend(place)
    net = caffe.Net('python.prototxt', caffe.TEST)
    values = draws.random((2, 3)).astype(np.float32)
    assert np.array_equal(net.forward(data=values)['twice'], 2 * values)
    assert (net.backward(twice=np.ones((2, 3)))['data'] == 2).all()
    (place / 'wrong.prototxt').write_text((place / 'python.prototxt').read_text().replace('Twice', 'Thrice'))
    with pytest.raises(RuntimeError, match="no class 'Thrice'; it has Twice"): caffe.Net('wrong.prototxt', caffe.TEST)
    assert sys.modules['caffe'] is caffe


def test_images(draws, place):
    pixels = draws.integers(0, 256, (9, 7, 3), dtype=np.uint8)
    (place / 'image.ppm').write_bytes(b'P6 7 9 255\n' + pixels.tobytes())
    image = caffe.io.load_image('image.ppm')
    assert image.dtype == np.float32 and np.allclose(image, pixels / 255.0)
    assert caffe.io.load_image('image.ppm', color=False).shape == (9, 7, 1)
    assert np.allclose(caffe.io.resize_image(image, (9, 7)), image)
    assert caffe.io.resize_image(image, (18, 5)).shape == (18, 5, 3)
    ramp = np.tile(np.arange(8, dtype=np.float32)[:, None, None], (1, 8, 1))
    half = caffe.io.resize_image(ramp, (4, 8))
    assert np.allclose(half[:, 0, 0], [0.5, 2.5, 4.5, 6.5])  # pixel centers
    crops = caffe.io.oversample([image], (4, 4))
    assert crops.shape == (10, 4, 4, 3) and np.array_equal(crops[5], crops[0][:, ::-1])


def test_datums_and_blobs(draws):
    pixels = draws.integers(0, 256, (9, 7, 3), dtype=np.uint8)
    datum = caffe.io.array_to_datum(pixels.transpose(2, 0, 1), 5)
    assert datum.label == 5 and np.array_equal(caffe.io.datum_to_array(datum), pixels.transpose(2, 0, 1))
    values = draws.random((2, 3, 4)).astype(np.float32)
    assert np.array_equal(caffe.io.datum_to_array(caffe.io.array_to_datum(values)), values)
    assert np.array_equal(caffe.io.blobproto_to_array(caffe.io.array_to_blobproto(values)), values)
    text = caffe.io.arraylist_to_blobprotovector_str([values])
    assert np.array_equal(caffe.io.blobprotovector_str_to_arraylist(text)[0], values)


def test_classifier(draws, place):
    classifier = caffe.Classifier('deploy.prototxt', 'snap_iter_20.caffemodel', image_dims=(24, 24), raw_scale=255,
                                  mean=np.array([10.0]))
    images = [draws.random((30, 26, 1)).astype(np.float32) for _ in range(3)]
    centre = classifier.predict(images, oversample=False)
    ten = classifier.predict(images)
    assert centre.shape == ten.shape == (3, 4) and np.allclose(ten.sum(1), 1, atol=1e-5)
    middle = caffe.io.resize_image(images[0], (24, 24))[2:22, 2:22].transpose(2, 0, 1) * 255 - 10
    net = caffe.Net('deploy.prototxt', 'snap_iter_20.caffemodel', caffe.TEST)
    assert np.allclose(net.forward(data=middle[None])['prob'][0], centre[0], atol=1e-5)


def test_detector(draws, place):
    message = text_format.Parse((place / 'deploy.prototxt').read_text(), caffe_pb2.NetParameter())
    message.layer[0].input_param.shape[0].dim[1] = 3
    (place / 'deploy_colour.prototxt').write_text(str(message))
    caffe.Net('deploy_colour.prototxt', caffe.TEST).save('colour.caffemodel')
    grey = draws.integers(0, 256, 1600, dtype=np.uint8)
    (place / 'grey.pgm').write_bytes(b'P5 40 40 255\n' + grey.tobytes())
    detector = caffe.Detector('deploy_colour.prototxt', 'colour.caffemodel', context_pad=2)
    found = detector.detect_windows([('grey.pgm', [(5, 5, 25, 25), (0, 0, 40, 40)])])
    assert len(found) == 2 and found[0]['prediction'].shape == (4,) and found[1]['window'] == (0, 0, 40, 40)


def test_net_is_drawn(folder):
    caffe.draw.draw_net_to_file(caffe.to_proto(L.ReLU(n_input())), 'net.png')
    assert (folder / 'net.png').read_bytes().startswith(b'\x89PNG')


def test_phases_devices_and_wrong_weights(place):
    (place / 'small.prototxt').write_text(SMALL)
    assert 'SoftmaxWithLoss' in caffe.layer_type_list() and caffe.TEST == 1 and caffe.TRAIN == 0
    with pytest.raises(TypeError, match='phase'): caffe.Net('small.prototxt')
    with pytest.raises(RuntimeError, match=r'small\.prototxt'):
        caffe.Net('small.prototxt', 'snap_iter_20.caffemodel', caffe.TEST)
    caffe.set_device(0)
    caffe.set_mode_gpu()
    caffe.set_mode_cpu()


def test_random_seed(folder):
    """The seed remains set, so this test is the last."""
    (folder / 'small.prototxt').write_text(SMALL)
    def drawn(seed):
        caffe.set_random_seed(seed)
        return caffe.Net('small.prototxt', caffe.TEST).params['conv'][0].data.copy()
    first = drawn(11)
    assert (drawn(12) != first).any()
    assert (drawn(11) == first).all()


SEGNET = """layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 dim: 4 dim: 5 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "c"
  convolution_param { num_output: 20 kernel_size: 1 weight_filler { type: "xavier" } } }
layer { name: "bn" type: "BN" bottom: "c" top: "c" top: "c-mean" top: "c-var"
  bn_param { scale_filler { type: "constant" value: 2 } shift_filler { type: "constant" value: 0.001 } } }
layer { name: "relu" type: "ReLU" bottom: "c" top: "c" }
"""


@pytest.mark.parametrize('phase', [caffe.TRAIN, caffe.TEST])
def test_statistics_of_batches_as_tops(folder, phase):
    """As SegNet's scripts read them, from BN layers that compute in place."""
    (folder / 'segnet.prototxt').write_text(SEGNET)
    net = caffe.Net('segnet.prototxt', phase)
    x = net.blobs['x'].data[...] = np.random.RandomState(0).randn(2, 3, 4, 5)
    out = net.forward()
    w, b = (blob.data for blob in net.params['conv'])
    c = np.einsum('oi,nihw->nohw', w[:, :, 0, 0], x) + b[None, :, None, None]
    mean, variance = c.mean((0, 2, 3), keepdims=True), c.var((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(out['c-mean'], mean, atol=1e-5)
    np.testing.assert_allclose(out['c-var'], variance, atol=1e-5)
    y = np.maximum(0, (c - mean) / np.sqrt(variance + 1e-9) * 2 + 0.001)
    np.testing.assert_allclose(net.blobs['c'].data, y, atol=1e-4)
