"""Weights shared by several layers or nets: they have one array, and reading it changes nothing."""
import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe

DATA = '''layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param { shape { dim: 4 dim: 3 }
  shape { dim: 4 } data_filler { type: "constant" value: 1 } data_filler { type: "constant" value: 1 } } }
'''
HEAD = '''layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }
'''
ENDS = '''layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
'''
SOLVER = ('net: "net" base_lr: 0 lr_policy: "fixed" max_iter: 9 test_iter: 1 test_interval: 100 '
          'snapshot_prefix: "snap" random_seed: 1')


def input_net(*layers):
    return 'layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }\n' + ''.join(layers)


def product(name, bottom, top, num_output=3, more=''):
    return ('layer { name: "%s" type: "InnerProduct" bottom: "%s" top: "%s" %s inner_product_param { num_output: %d '
            'weight_filler { type: "xavier" } } }\n' % (name, bottom, top, more, num_output))


@pytest.fixture
def net(folder):
    """net('text') makes a net, by default of phase TEST."""
    def net(text, phase=caffe.TEST):
        (folder / 'own').write_text(text)
        return caffe.Net('own', phase)
    return net


@pytest.fixture
def solver(folder):
    (folder / 'net').write_text(DATA + HEAD + ENDS)
    (folder / 'solver').write_text(SOLVER)
    return caffe.SGDSolver('solver')


def bias(net, layer='ip'): return net.params[layer][1].data


def test_one_array_for_all_nets_of_a_solver(solver):
    assert bias(solver.net) is bias(solver.test_nets[0])
    bias(solver.net)[...] = [0, 9, 0]
    assert solver.test_nets[0].forward()['accuracy'] == 1
    bias(solver.test_nets[0])[...] = [9, 0, 0]
    solver.net.forward()
    assert solver.net.blobs['ip'].data[0].tolist() == [9, 0, 0]
    assert solver.test_nets[0].forward()['accuracy'] == 0


def test_reading_a_test_net_keeps_loaded_weights(solver, net):
    other = net(DATA + HEAD + ENDS)
    bias(other)[...] = [0, 9, 0]
    other.save('w.caffemodel')
    held = [blob.data for blob in solver.test_nets[0].params['ip']]
    solver.net.copy_from('w.caffemodel')
    assert held[1].tolist() == [0, 9, 0]
    solver.step(1)
    solver.test_nets[0].forward()
    assert bias(solver.net).tolist() == held[1].tolist() == [0, 9, 0]


def test_test_nets_may_share_again_what_they_share(solver):
    before = bias(solver.net)
    solver.test_nets[0].share_with(solver.net)
    solver.net.share_with(solver.net)
    before[...] = [0, 9, 0]
    assert solver.test_nets[0].forward()['accuracy'] == 1


def test_shared_weights_outlive_their_solver(solver, net):
    own = net(DATA + HEAD + ENDS)
    own.share_with(solver.net)
    bias(solver.net)[...] = [0, 9, 0]
    assert own.forward()['accuracy'] == 1
    solver._solver.close()
    solver = None
    assert own.forward()['accuracy'] == 1 and bias(own).tolist() == [0, 9, 0]


def test_solver_takes_no_other_nets_weights(solver, net):
    with pytest.raises(RuntimeError, match='cannot share another'): solver.net.share_with(net(DATA + HEAD + ENDS))


def test_two_layers_of_one_net(net):
    twins = net(input_net(product('a', 'x', 'ya', more='param { name: "w" } param { name: "b" }'),
                          product('b', 'x', 'yb', more='param { name: "w" } param { name: "b" }')), caffe.TRAIN)
    assert bias(twins, 'a') is bias(twins, 'b')
    bias(twins, 'b')[...] = 5
    twins.blobs['x'].data[...] = 0
    twins.forward()
    assert (twins.blobs['ya'].data == 5).all() and (twins.blobs['yb'].data == 5).all()
    assert twins.params['a'][0].diff is twins.params['b'][0].diff


def test_changes_of_shared_weights_are_visible_in_both_nets(net):
    text = input_net(product('ip', 'x', 'y'))
    a, b = net(text), net(text)
    blob, kept = b.params['ip'][1], bias(b)
    b.share_with(a)
    assert blob.data is bias(a) and kept is not blob.data
    blob.data[...] = [1, 2, 3]
    assert a.forward(x=np.zeros((2, 3)))['y'][0].tolist() == [1, 2, 3]
    bias(a)[...] = [4, 5, 6]
    assert b.forward(x=np.zeros((2, 3)))['y'][0].tolist() == [4, 5, 6]
    kept[...] = 0  # detached from the net
    assert b.forward()['y'][0].tolist() == [4, 5, 6]


def test_shared_memory_stays_when_the_other_net_shares_others(net):
    """As in Caffe, memory is shared, not the name of a net."""
    text = input_net(product('ip', 'x', 'y'))
    a, b, c = net(text), net(text), net(text)
    bias(a)[...], bias(c)[...] = 1, 3
    b.share_with(a)
    a.share_with(c)
    bias(b)[...] = 2
    assert bias(a).tolist() == [3, 3, 3] and bias(c) is bias(a)
    assert b.forward(x=np.zeros((2, 3)))['y'][0].tolist() == [2, 2, 2]
    assert a.forward(x=np.zeros((2, 3)))['y'][0].tolist() == [3, 3, 3]
    del a, c
    b.blobs['x'].reshape(5, 3)
    assert b.forward(x=np.zeros((5, 3)))['y'].tolist() == [[2, 2, 2]] * 5


def test_layers_of_only_one_net_keep_their_weights(net):
    a = net(input_net(product('ip', 'x', 'y')))
    b = net(input_net(product('ip', 'x', 'y'), product('more', 'y', 'z')))
    c = net(input_net(product('ip', 'x', 'y'), product('more', 'y', 'z')))
    own = b.params['more'][0].data.copy()
    bias(b, 'more')[...] = 7
    b.share_with(a)
    assert np.array_equal(b.params['more'][0].data, own) and (bias(b, 'more') == 7).all()
    c.share_with(b)  # which has the weights of two nets
    bias(b, 'more')[...], bias(a)[...] = 8, 9
    c.forward(x=np.zeros((2, 3)))
    assert (bias(c, 'more') == 8).all() and c.blobs['y'].data[0].tolist() == [9, 9, 9]


def test_sharing_keeps_inputs_and_gradients(net):
    text = 'force_backward: true\n' + input_net(product('ip', 'x', 'y'))
    a, b = net(text), net(text)
    b.blobs['x'].data[...] = 2
    b.forward()
    b.backward(y=np.ones((2, 3)))
    gradient = b.params['ip'][0].diff.copy()
    b.share_with(a)
    assert (b.blobs['x'].data == 2).all() and np.array_equal(b.params['ip'][0].diff, gradient) and gradient.any()
    assert np.array_equal(b.forward()['y'], a.forward(x=np.full((2, 3), 2))['y'])


def test_reshaping_one_input_keeps_the_others(net):
    two = net('layer { name: "in" type: "Input" top: "a" top: "b" input_param { shape { dim: 2 } shape { dim: 3 } } }\n'
              'layer { name: "p" type: "Power" bottom: "b" top: "q" }\n'
              'layer { name: "r" type: "Power" bottom: "a" top: "s" }\n')
    two.blobs['b'].data[...] = [1, 2, 3]
    two.blobs['a'].reshape(5)
    assert two.forward()['q'].tolist() == [1, 2, 3]
    two.blobs['a'].reshape(4)
    assert two.forward()['q'].tolist() == [1, 2, 3]


IN_PLACE = [('TanH', ''), ('Sigmoid', ''), ('ReLU', 'relu_param { negative_slope: 0.5 }'), ('PReLU', ''), ('ELU', ''),
            ('Scale', 'scale_param { filler { value: 3 } }'), ('Power', 'power_param { power: 2 scale: 2 }'),
            ('BatchNorm', ''), ('Exp', ''), ('Bias', ''), ('Dropout', ''), ('BNLL', '')]


@pytest.mark.parametrize('kind, options', IN_PLACE, ids=[kind for kind, _ in IN_PLACE])
def test_reading_blobs_changes_no_gradient(net, kind, options):
    """A blob that is computed in place has several values."""
    text = 'force_backward: true\n' + input_net(
        product('ip', 'x', 'y', 4), 'layer { name: "act" type: "%s" bottom: "y" top: "y" %s }\n' % (kind, options),
        product('last', 'y', 'z', 2))

    def gradients(look):
        made = net(text, caffe.TRAIN)
        x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
        made.forward(x=x)
        if look: look = [blob.data for blob in made.blobs.values()] + [blob.diff for blob in made.blobs.values()]
        found = made.backward(z=np.arange(4).reshape(2, 2))['x'].copy()
        return found, [blob.diff.copy() for blobs in made.params.values() for blob in blobs]

    (plain, weights), (looked, weights_too) = gradients(False), gradients(True)
    assert plain.any() and np.array_equal(plain, looked)
    assert all(np.array_equal(a, b) for a, b in zip(weights, weights_too))


def test_input_that_is_set_to_the_result_of_an_in_place_layer(net):
    twice = net(input_net('layer { name: "p" type: "Power" bottom: "x" top: "x" power_param { scale: 2 } }\n'))
    twice.blobs['x'].data[...] = 1
    assert (twice.forward()['x'] == 2).all()
    twice.blobs['x'].data[...] = 2
    assert (twice.forward()['x'] == 4).all()


def test_sharing_between_forward_and_backward(net, folder):
    """Both passes are of the same values, also of those that layers in place have overwritten."""
    text = 'force_backward: true\n' + input_net(
        product('ip', 'x', 'y', 4),
        'layer { name: "power" type: "Power" bottom: "y" top: "y" power_param { power: 2 } }\n',
        'layer { name: "tanh" type: "TanH" bottom: "y" top: "y" }\n', product('last', 'y', 'z', 2))
    x, dz = np.random.default_rng(1).normal(size=(2, 3)), np.arange(4).reshape(2, 2)
    plain, sharing, other = net(text), net(text), net(text)
    plain.save('w')
    for each in (sharing, other): each.copy_from('w')
    for each in (plain, sharing): each.forward(x=x)
    sharing.share_with(other)
    for each in (plain, sharing): each.backward(z=dz)
    for name, blob in plain.blobs.items():
        assert blob.data.any() and np.array_equal(sharing.blobs[name].data, blob.data), name
        assert blob.diff.any() and np.array_equal(sharing.blobs[name].diff, blob.diff), name


def test_reshaping_one_input_keeps_blobs_of_the_others(net):
    two = net('force_backward: true\n'
              'layer { name: "in" type: "Input" top: "a" top: "b" input_param { shape { dim: 2 } shape { dim: 3 } } }\n'
              'layer { name: "p" type: "Power" bottom: "b" top: "q" }\n'
              'layer { name: "r" type: "Power" bottom: "a" top: "s" }\n')
    two.blobs['q'].data[...], two.blobs['q'].diff[...], two.blobs['b'].diff[...] = 1, 2, 3
    two.blobs['a'].reshape(5)
    two.reshape()
    assert two.blobs['s'].shape == (5,) and (two.blobs['q'].data == 1).all()
    assert (two.blobs['q'].diff == 2).all() and (two.blobs['b'].diff == 3).all()
