"""Parts of passes, as in Caffe: only the named layers run, and what is computed in place is one blob."""
import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe, cortado

DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 5 dim: 4 } } }\n'
FILLED = 'weight_filler { type: "gaussian" std: 1 } bias_filler { type: "gaussian" std: 1 }'


def layer(name, kind, bottom, top, options=''):
    return 'layer { name: "%s" type: "%s" bottom: "%s" top: "%s" %s }\n' % (name, kind, bottom, top, options)


# A convolution and layers that compute in place: forward and derivative of each, from its input.
def sigmoid(x): return 1 / (1 + np.exp(-x))


STEPS = {'relu': ('ReLU', '', lambda x: np.maximum(x, 0), lambda x: x > 0),
         'power': ('Power', 'power_param { scale: 2 shift: 1 }', lambda x: 2 * x + 1, lambda x: 2 + 0 * x),
         'sigmoid': ('Sigmoid', '', sigmoid, lambda x: sigmoid(x) * (1 - sigmoid(x))),
         'tanh': ('TanH', '', np.tanh, lambda x: 1 - np.tanh(x)**2)}
CONV = layer('c', 'Convolution', 'data', 'c', 'convolution_param { num_output: 4 kernel_size: 1 %s }' % FILLED)
CHAIN = 'force_backward: true\n' + DATA + CONV + ''.join(
    layer(name, kind, 'c', 'c', options) for name, (kind, options, _, _) in STEPS.items()) + \
    layer('fc', 'InnerProduct', 'c', 'fc', 'inner_product_param { num_output: 5 %s }' % FILLED) + \
    layer('relu_fc', 'ReLU', 'fc', 'fc')


@pytest.fixture
def draws(): return np.random.default_rng(1)


@pytest.fixture
def net_of(folder):
    def net_of(text, phase=caffe.TEST, module=caffe):
        (folder / 'net').write_text(text)
        return module.Net('net', phase) if module is caffe else module.Net('net', phase='TEST')
    return net_of


def close(seen, right): return np.allclose(seen, right, rtol=1e-4, atol=1e-5)


def values(net, data):
    """What each layer of CHAIN computes."""
    w, b = (blob.data for blob in net.params['c'])
    of = {'c': np.einsum('oc,nchw->nohw', w[:, :, 0, 0], data) + b[:, None, None]}
    last = 'c'
    for name, (_, _, function, _) in STEPS.items():
        of[name] = function(of[last])
        last = name
    w, b = (blob.data for blob in net.params['fc'])
    of['fc'] = of[last].reshape(2, -1) @ w.T + b
    of['relu_fc'] = np.maximum(of['fc'], 0)
    return of


def gradient(net, of, start, dy):
    """The gradient of the data, if that of the blob of layer `start` is dy after that layer."""
    names = list(of)
    for name in names[names.index(start)::-1]:
        before = of[names[names.index(name) - 1]] if name != 'c' else None
        if name == 'relu_fc':
            dy = dy * (before > 0)
        elif name == 'fc':
            dy = (dy @ net.params['fc'][0].data).reshape(before.shape)
        elif name == 'c':
            dy = np.einsum('oc,nohw->nchw', net.params['c'][0].data[:, :, 0, 0], dy)
        else:
            dy = dy * STEPS[name][3](before)
    return dy


def test_forward_ends_at_each_layer(net_of, draws):
    net = net_of(CHAIN)
    for whole_before in (False, True):
        data = draws.normal(size=(2, 3, 5, 4)).astype(np.float32)
        net.blobs['data'].data[...] = data
        of = values(net, data)
        for end, right in of.items():
            if whole_before: net.forward()
            seen = net.forward(end=end)
            blob = 'c' if end in STEPS else 'fc' if end == 'relu_fc' else end
            assert list(seen) == [blob] and close(seen[blob], right), end
            assert close(net.blobs[blob].data, right), end


def test_forward_starts_with_what_ran_last(net_of, draws):
    """One memory: the next layer reads the values that the last layer left, also those of an earlier one."""
    net = net_of(CHAIN)
    data = draws.normal(size=(2, 3, 5, 4)).astype(np.float32)
    net.forward(data=data)
    of = values(net, data)
    net.forward(end='relu')
    net.forward(start='fc', end='fc')
    w, b = (blob.data for blob in net.params['fc'])
    assert close(net.blobs['fc'].data, of['relu'].reshape(2, -1) @ w.T + b)
    net.forward(start='tanh', end='tanh')
    assert close(net.blobs['c'].data, np.tanh(of['relu']))
    net.forward(start='power', end='power')
    assert close(net.blobs['c'].data, 2 * np.tanh(of['relu']) + 1)
    net.blobs['c'].data[...] = -1
    net.forward(start='relu', end='relu')
    assert not net.blobs['c'].data.any()
    assert close(net.forward()['fc'], of['relu_fc']) and close(net.blobs['c'].data, of['tanh'])


def test_every_layer_alone_is_a_pass(net_of, draws):
    net, alone = net_of(CHAIN), net_of(CHAIN)
    alone.share_with(net)
    data, dy = draws.normal(size=(2, 3, 5, 4)), draws.normal(size=(2, 5))
    net.forward(data=data)
    net.backward(fc=dy)
    alone.blobs['data'].data[...] = data
    for name in alone._layer_names: alone.forward(start=name, end=name)
    alone.blobs['fc'].diff[...] = dy
    for name in reversed(alone._layer_names): alone.backward(start=name, end=name)
    for name in net.blobs:
        assert np.array_equal(net.blobs[name].data, alone.blobs[name].data), name
        assert np.array_equal(net.blobs[name].diff, alone.blobs[name].diff), name
    assert close(net.blobs['data'].diff, gradient(net, values(net, data), 'relu_fc', dy))


def test_backward_starts_at_each_layer(net_of, draws):
    net = net_of(CHAIN)
    data = draws.normal(size=(2, 3, 5, 4)).astype(np.float32)
    of = values(net, data)
    for start, right in of.items():
        net.forward(data=data)
        blob = net.blobs['fc' if 'fc' in start else 'c']
        dy = draws.normal(size=blob.data.shape)
        blob.diff[...] = dy
        seen = net.backward(start=start, diffs=['c'])
        assert close(seen['data'], gradient(net, of, start, dy)), start
        if start == 'c': assert close(seen['c'], dy)


def test_backward_ends_and_goes_on(net_of, draws):
    """After the upper part of a pass the blob has the gradient that the lower part reads."""
    net = net_of(CHAIN)
    data, dy = draws.normal(size=(2, 3, 5, 4)), draws.normal(size=(2, 5))
    right = gradient(net, values(net, data), 'relu_fc', dy)
    names = net._layer_names
    for upper in range(2, len(names)):
        net.forward(data=data)
        net.blobs['fc'].diff[...] = dy
        net.backward(end=names[upper])
        net.blobs['c' if upper < names.index('fc') + 1 else 'fc'].diff[...] *= 2
        net.backward(start=names[upper - 1])
        assert close(net.blobs['data'].diff, 2 * right), names[upper]


IN_PLACE = {
    'AbsVal': '', 'BNLL': '', 'BatchNorm': '', 'Bias': '', 'Clip': 'clip_param { min: -0.5 max: 0.7 }', 'Dropout': '',
    'ELU': '', 'Exp': '', 'LRN': '', 'MVN': '', 'PReLU': '', 'Power': 'power_param { power: 2 shift: 3 }', 'ReLU': '',
    'Scale': 'scale_param { bias_term: true filler { value: 3 } }', 'Sigmoid': '', 'Softmax': '', 'Swish': '',
    'TanH': ''}


@pytest.mark.parametrize('phase', (caffe.TRAIN, caffe.TEST))
@pytest.mark.parametrize('kind', IN_PLACE)
def test_values_before_and_after_each_type(net_of, draws, kind, phase):
    """A layer in place equals one with a blob of its own, whichever layers run."""
    def text(top): return 'force_backward: true\n' + DATA + CONV + layer('mine', kind, 'c', top, IN_PLACE[kind]) + \
        layer('sum', 'Power', top, 'sum', 'power_param { scale: 3 }')
    caffe.set_random_seed(3)
    own = net_of(text('y'), phase)
    caffe.set_random_seed(3)
    net = net_of(text('c'), phase)
    data = draws.normal(size=(2, 3, 5, 4))
    own.forward(data=data)
    net.forward(data=data)
    assert np.array_equal(net.blobs['c'].data, own.blobs['y'].data)
    assert np.array_equal(net.blobs['sum'].data, own.blobs['sum'].data)
    dy = draws.normal(size=net.blobs['sum'].data.shape)
    assert np.array_equal(net.backward(sum=dy)['data'], own.backward(sum=dy)['data'])
    assert np.array_equal(net.blobs['c'].diff, own.blobs['c'].diff)
    for one in (own, net): one.blobs['c'].diff[...] = dy
    assert np.array_equal(net.backward(start='c')['data'], own.backward(start='c')['data'])
    assert np.array_equal(net.forward(end='c')['c'], own.blobs['c'].data)


@pytest.mark.parametrize('stops', (
    layer('mine', 'Threshold', 'c', 'c'), layer('mine', 'ReLU', 'c', 'c', 'propagate_down: false')))
def test_a_layer_in_place_may_stop_gradients(net_of, draws, stops):
    net = net_of('force_backward: true\n' + DATA + CONV + stops + layer('sum', 'Power', 'c', 'sum'))
    net.forward(data=draws.normal(size=(2, 3, 5, 4)))
    dy = draws.normal(size=net.blobs['sum'].data.shape)
    for _ in range(2): assert not net.backward(sum=dy)['data'].any()
    net.blobs['c'].diff[...] = dy
    right = np.einsum('oc,nohw->nchw', net.params['c'][0].data[:, :, 0, 0], dy)
    assert close(net.backward(start='c')['data'], right)


def test_copies_in_other_layouts_are_those_of_the_last_pass(net_of, draws):
    """Layers that read a blob in another layout, some after others: each runs alone on new values."""
    text = 'force_backward: true\n' + DATA + CONV.replace('num_output: 4', 'num_output: 32') + ''.join(
        layer(name, 'Reshape', 'c', name, 'reshape_param { shape { dim: 0 dim: -1 } }') for name in ('a', 'b')) + \
        layer('p', 'Power', 'a', 'p') + layer('q', 'Power', 'b', 'q')
    net = net_of(text)
    for _ in range(2):
        data = draws.normal(size=(2, 3, 5, 4)).astype(np.float32)
        net.blobs['data'].data[...] = data
        net.forward(end='c')
        right = values_of_conv(net, data).reshape(2, -1)
        for start, top in (('b', 'q'), ('q', 'q'), ('a', 'p')):
            net.forward(start=start, end=top)
            assert close(net.blobs[top].data, right), start


def values_of_conv(net, data):
    w, b = (blob.data for blob in net.params['c'])
    return np.einsum('oc,nchw->nohw', w[:, :, 0, 0], data) + b[:, None, None]


def test_the_same_from_cortado(net_of, draws):
    net = net_of(CHAIN, module=cortado)
    chain = caffe.Net.over(net)
    data = draws.normal(size=(2, 3, 5, 4)).astype(np.float32)
    of = values(chain, data)
    net.set_blob('data', data)
    net.forward(end='relu')
    assert close(net.blob('c'), of['relu'])
    net.forward()
    dy = draws.normal(size=(2, 4, 5, 4)).astype(np.float32)
    net.set_gradient('c', dy)
    net.backward('power', 'power')
    assert close(net.gradient('c'), 2 * dy)


SHARING = {'sum': ('Eltwise', ''), 'largest': ('Eltwise', 'eltwise_param { operation: MAX }'),
           'joined': ('Concat', ''), 'biased': ('Bias', '')}


@pytest.mark.parametrize('kind', SHARING)
def test_gradients_do_not_share_memory(net_of, draws, kind):
    """Setting one blob's gradient changes no other blob's."""
    text = 'force_backward: true\n' + DATA + CONV + layer('a', 'Power', 'c', 'a') + layer('b', 'Power', 'c', 'b') + \
        'layer { name: "mine" type: "%s" bottom: "a" bottom: "b" top: "mine" %s }\n' % SHARING[kind]
    net = net_of(text.replace('bottom: "a" bottom: "b"', 'bottom: "a"') if kind == 'biased' else text)
    net.forward(data=draws.normal(size=(2, 3, 5, 4)))
    net.backward(mine=draws.normal(size=net.blobs['mine'].data.shape), **(
        {'b': draws.normal(size=net.blobs['b'].data.shape)} if kind == 'biased' else {}))
    for name, blob in net.blobs.items():
        before = {other: net.blobs[other].diff.copy() for other in net.blobs if other != name}
        blob.diff[...] = draws.normal(size=blob.data.shape)
        net.clear_param_diffs()  # writes to the net
        for other in before: assert np.array_equal(net._net.gradient(other), before[other]), (name, other)


@pytest.mark.parametrize('kind', ('Dropout', 'SpatialDropout'))
def test_layers_that_change_nothing_have_blobs_of_their_own(net_of, draws, kind):
    net = net_of('force_backward: true\n' + DATA + CONV + layer('same', kind, 'c', 'y') +
                 layer('sum', 'Power', 'y', 'z'))
    net.forward(data=draws.normal(size=(2, 3, 5, 4)))
    right, dy = net.blobs['c'].data.copy(), draws.normal(size=net.blobs['y'].data.shape)
    assert np.array_equal(net.blobs['z'].data, right)
    net.blobs['y'].data[...] = 7
    net.forward(start='sum')
    assert (net.blobs['z'].data == 7).all() and np.array_equal(net.blobs['c'].data, right)
    net.forward(start='same')
    assert np.array_equal(net.blobs['z'].data, right)
    net.backward(z=dy)
    net.blobs['y'].diff[...] = 0
    net.clear_param_diffs()
    assert close(net._net.gradient('c'), dy)


# Other sizes

HEAD = '''force_backward: true
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 12 dim: 12 } } }
''' + layer('c', 'Convolution', 'data', 'c', 'convolution_param { num_output: 4 kernel_size: 1 %s }' % FILLED) + \
    layer('relu', 'ReLU', 'c', 'c') + \
    layer('pool', 'Pooling', 'c', 'pool', 'pooling_param { pool: AVE kernel_size: 6 stride: 6 }') + \
    layer('fc', 'InnerProduct', 'pool', 'fc', 'inner_product_param { num_output: 2 %s }' % FILLED)
SIZES = (20, 4, 12, 30, 12)  # the net's own is 12; the pooling needs 6


def test_first_layers_run_on_other_sizes(net_of, draws):
    net = net_of(HEAD)
    for size in SIZES:
        data = draws.normal(size=(2, 3, size, size)).astype(np.float32)
        net.blobs['data'].reshape(*data.shape)
        net.reshape()
        net.blobs['data'].data[...] = data
        right = values_of_conv(net, data)
        assert close(net.forward(end='c')['c'], right) and net.blobs['c'].shape == right.shape, size
        assert close(net.forward(start='relu', end='relu')['c'], np.maximum(right, 0)), size
        dy = draws.normal(size=right.shape)
        net.blobs['c'].diff[...] = dy
        net.backward(start='relu')
        w = net.params['c'][0].data[:, :, 0, 0]
        assert close(net.blobs['data'].diff, np.einsum('oc,nohw->nchw', w, dy * (right > 0))), size
        if size == 12: continue
        with pytest.raises(RuntimeError, match="layer '(pool|fc)'"): net.forward()
        with pytest.raises(RuntimeError, match="layer '(pool|fc)'"): net.backward()
        with pytest.raises(RuntimeError, match="layer '(pool|fc)'"): net.forward(start='fc', end='fc')
    assert net.forward()['fc'].shape == (2, 2)


def test_layers_that_do_not_fit_keep_what_they_had(net_of, draws):
    """Their blobs, weights and gradients; files have all weights."""
    net = net_of(HEAD)
    data = draws.normal(size=(1, 3, 12, 12))
    before = net.forward(data=data)['fc'].copy()
    net.backward(fc=np.ones((1, 2)))
    gradients = [blob.diff.copy() for name in ('c', 'fc') for blob in net.params[name]]
    net.blobs['data'].reshape(1, 3, 20, 20)
    net.forward(end='c')
    assert close(net.blobs['fc'].data, before) and net.blobs['fc'].shape == (1, 2)
    for seen, right in zip([blob.diff for name in ('c', 'fc') for blob in net.params[name]], gradients):
        assert close(seen, right)
    net.blobs['c'].diff[...] = 1
    net.backward(start='c')
    assert close(net.params['c'][1].diff, gradients[1] + 400) and close(net.params['fc'][1].diff, gradients[3])
    net.params['fc'][1].data[...] = 7
    net.save('w')
    net.blobs['data'].reshape(1, 3, 12, 12)
    net.forward(data=data)
    assert close(net.params['c'][1].diff, gradients[1] + 400) and close(net.params['fc'][1].diff, gradients[3])
    net.clear_param_diffs()
    assert not net.params['c'][1].diff.any() and not net.params['fc'][1].diff.any()
    again = net_of(HEAD)
    again.copy_from('w')
    assert np.array_equal(again.forward(data=data)['fc'], net.forward(data=data)['fc'])
    assert (again.params['fc'][1].data == 7).all()


def test_the_first_layers_of_a_training_net_have_gradients(net_of, draws):
    """Without force_backward: a layer has a backward because a later loss depends on it."""
    text = HEAD.replace('force_backward: true\n', '') + \
        'layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 1 } } }\n' + \
        'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }'
    net = net_of(text, caffe.TRAIN)
    data = draws.normal(size=(1, 3, 20, 20)).astype(np.float32)
    net.blobs['data'].reshape(*data.shape)
    net.blobs['label'].reshape(1)
    net.blobs['data'].data[...] = data
    net.forward(end='c')
    net.blobs['c'].diff[...] = 1
    net.backward(start='c')
    assert close(net.params['c'][0].diff[:, :, 0, 0], np.tile(data.sum((0, 2, 3)), (4, 1)))


def test_inputs_after_a_layer_that_does_not_fit(net_of):
    text = HEAD + 'layer { name: "more" type: "Input" top: "more" input_param { shape { dim: 2 } } }\n' + \
        layer('twice', 'Power', 'more', 'twice', 'power_param { scale: 2 }')
    net = net_of(text)
    net.blobs['data'].reshape(1, 3, 20, 20)
    net.blobs['more'].reshape(3)
    net.blobs['more'].data[...] = 5
    net.forward(end='c')
    assert net.blobs['more'].shape == (3,) and (net.blobs['more'].data == 5).all()
    net.blobs['data'].reshape(1, 3, 12, 12)
    assert (net.forward()['twice'] == 10).all() and net.blobs['twice'].shape == (3,)


def test_reshape_of_cortado(net_of):
    net = net_of(HEAD, module=cortado)
    net.reshape(data=(1, 3, 20, 20))
    net.forward('c', 'c')
    assert net.shape('c') == (1, 4, 20, 20) and net.blob('c').shape == (1, 4, 20, 20)
    with pytest.raises(cortado.Error, match="layer 'fc'") as found: net.forward()
    assert found.value.code == 3
    other = net_of(HEAD, module=cortado)
    with pytest.raises(cortado.Error, match="layer 'fc'"): net.share(other)
    net.reshape(data=(1, 3, 12, 12))
    net.share(other)
    net.forward()


# Nets of a solver

TRAINED = '''layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
  shape { dim: 2 dim: 3 dim: 5 dim: 4 } shape { dim: 2 }
  data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
''' + CONV + layer('bn', 'BatchNorm', 'c', 'c') + \
    layer('scale', 'Scale', 'c', 'c', 'scale_param { bias_term: true }') + layer('relu', 'ReLU', 'c', 'c') + \
    layer('fc', 'InnerProduct', 'c', 'fc', 'inner_product_param { num_output: 5 %s }' % FILLED) + \
    'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }'


def test_nets_of_a_solver_run_the_named_layers(folder):
    """Although a training merges these layers."""
    (folder / 'net').write_text(TRAINED)
    (folder / 'solver').write_text('net: "net" base_lr: 0.01 lr_policy: "fixed" max_iter: 9 snapshot_prefix: "s" '
                                   'random_seed: 1 test_iter: 1 test_interval: 100')
    solver = caffe.get_solver('solver')
    solver.step(2)
    for net in [solver.net] + list(solver.test_nets):
        net.forward(end='c')
        right = values_of_conv(net, net.blobs['data'].data)
        assert close(net.blobs['c'].data, right)
        net.forward(start='bn', end='scale')
        scaled = net.blobs['c'].data.copy()
        if net is solver.net:
            mean, variance = right.mean((0, 2, 3), keepdims=True), right.var((0, 2, 3), keepdims=True)
            right = (right - mean) / np.sqrt(variance + 1e-5)
            gamma, beta = (blob.data[:, None, None] for blob in net.params['scale'])
            assert np.allclose(scaled, right * gamma + beta, atol=1e-3)
        net.forward(start='relu')
        assert np.array_equal(net.blobs['c'].data, np.maximum(scaled, 0))
    dy = np.ones_like(solver.net.blobs['c'].data)
    solver.net.clear_param_diffs()
    solver.net.blobs['c'].diff[...] = dy
    solver.net.backward(start='c')
    assert close(solver.net.params['c'][1].diff, dy.sum((0, 2, 3)))


# Rows that vary

def test_arrays_have_the_rows_of_the_latest_pass(net_of, draws):
    text = 'force_backward: true\nlayer { name: "in" type: "Input" top: "x" top: "chosen" ' \
           'input_param { shape { dim: 6 dim: 3 } shape { dim: 6 } } }\n' \
           'layer { name: "filter" type: "Filter" bottom: "x" bottom: "chosen" top: "f" }\n' + \
           layer('relu', 'ReLU', 'f', 'f') + layer('twice', 'Power', 'f', 'y', 'power_param { scale: 2 }')
    for module in (caffe, cortado):
        net = net_of(text, module=module)
        script = net if module is caffe else caffe.Net.over(net)
        for chosen in ([0, 2], [5], [0, 1, 2, 3, 4, 5], [1, 3, 4]):
            x = draws.normal(size=(6, 3)).astype(np.float32)
            selector = np.isin(np.arange(6), chosen)
            y = script.forward(x=x, chosen=selector)['y']
            assert close(y, 2 * np.maximum(x[chosen], 0)) and script.blobs['f'].shape == (len(chosen), 3)
            assert close(script.forward(end='filter')['f'], x[chosen])
            script.forward(start='relu')
            dy = draws.normal(size=y.shape)
            script.blobs['y'].diff[...] = dy
            dx = script.backward()['x']
            right = np.zeros((6, 3))
            right[chosen] = 2 * dy * (x[chosen] > 0)
            assert close(dx, right)
            assert script.blobs['f'].diff.shape == (len(chosen), 3)
