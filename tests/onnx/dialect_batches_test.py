"""A net of another dialect is right for every batch that the net itself accepts, also where a layer moves the batch or
works along it, or the layer is refused with its place. A batch of 1 looks like any other extent of 1."""
import itertools
import subprocess

import pytest

from tests.onnx.dialect_test import MORE
from tests.onnx.layers_test import LAYERS, extents, inputs_text, layer_text
from tests.onnx.own_batch_test import ALONG_THE_FIRST
from tests.onnx.random_weights import draw_weights, far, numpy

TABLES = [(table, shapes) for table in (LAYERS, MORE, ALONG_THE_FIRST) for shapes in table]
REFUSED = {'Attention', 'DenseBlock', 'PriorBox', 'Parameter', 'Normalize', 'Reorg'}  # with some options, for any batch
OF_ONE_BATCH = {'Reverse reverse_param { axis: 0 }'}


def with_rows(shapes, rows):
    return ['shape { %s }' % ' '.join('dim: %d' % dim for dim in (rows, *extents(shape)[1:])) for shape in shapes]


@pytest.fixture
def program(cortado):
    return lambda *words: subprocess.run([cortado, *words], capture_output=True, text=True)


@pytest.fixture
def compare(folder, infer, program, summary):
    """compare(shapes, layers, batches) rewrites the net for a batch of 1, and infers both nets for the others. Returns
    for how many, or the message of a refusal."""
    def compare(shapes, text, batches):
        (folder / 'net.prototxt').write_text(inputs_text(with_rows(shapes, 1)) + text)
        if program('check', 'net.prototxt').returncode: return 0  # it needs more than a batch of 1
        of_net = summary('net.prototxt')
        weights = draw_weights(of_net, 'net.npz') or ['none.npz']
        if weights[0] == 'none.npz': numpy.savez('none.npz', **{'x/0': numpy.zeros(1, 'f4')})
        done = program('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc', '--weights=' + weights[0],
                       '--force')
        if done.returncode: return done.stderr
        compared = 0
        for rows in batches:
            (folder / 'other.prototxt').write_text(inputs_text(with_rows(shapes, rows)) + text)

            x = {'x%d' % i: numpy.random.RandomState(7 + i).normal(0, 1, (rows, *extents(shape)[1:])).astype('f4')
                 for i, shape in enumerate(shapes)}
            try: theirs = infer('other.prototxt', weights[0], x, of_net['outputs'])
            except AssertionError: continue  # it takes only its own batch
            ours = infer('new.prototxt', 'new.caffemodel', x, of_net['outputs'])
            for name, a, b in zip(of_net['outputs'], ours, theirs): assert far(a, b) < 1e-5, (rows, name)
            compared += 1
        return compared
    return compare


@pytest.mark.parametrize('table, shapes', TABLES, ids=range(len(TABLES)))
def test_every_layer(compare, shapes, table):
    several = 0
    for layer in table[shapes].strip().split('\n'):
        if layer.startswith('Lstm'): continue  # its batch is the second axis
        result = compare(shapes, layer_text(0, len(shapes), layer), (3,))
        if isinstance(result, str):
            assert layer in OF_ONE_BATCH or layer.partition(' ')[0] in REFUSED, result
            assert "'tested0'" in result and ("own batch only" in result) == (layer in OF_ONE_BATCH), result
        else:
            assert layer not in OF_ONE_BATCH
            several += result
    assert several or len(table[shapes].strip().split('\n')) < 4


ORDERS = list(itertools.permutations(range(4)))


def permute(name, bottom, order):
    return 'layer { name: "%s" type: "Permute" bottom: "%s" top: "%s" permute_param { %s } }\n' % (
        name, bottom, name, ' '.join('order: %d' % axis for axis in order))


@pytest.mark.parametrize('axis', range(4))
def test_permutes_of_the_batch(axis, compare):
    """Every order of four axes, a Softmax along each axis, and another order after it."""
    text = ''
    for i, (order, next_order) in enumerate(zip(ORDERS, ORDERS[7:] + ORDERS[:7])):
        text += permute('a%d' % i, 'x0', order)
        text += 'layer { name: "s%d" type: "Softmax" bottom: "a%d" top: "s%d" softmax_param { axis: %d } }\n' % (
            i, i, i, axis)
        text += permute('y%d' % i, 's%d' % i, next_order)
    assert compare(['shape { dim: 1 dim: 3 dim: 4 dim: 2 }'], text, (1, 2, 3)) == 3
    assert compare(['shape { dim: 1 dim: 3 dim: 1 dim: 2 }'], text, (1, 2, 3)) == 3


BETWEEN = [  # on 3 x batch x 6 values
    'Reverse', 'Reverse reverse_param { axis: 1 }', 'Reshape reshape_param { shape { dim: 0 dim: -1 dim: 3 } }',
    'Reshape reshape_param { shape { dim: -1 dim: 6 } }', 'Flatten flatten_param { axis: 1 }', 'Flatten',
    'Flatten flatten_param { axis: 0 end_axis: 1 }', 'InnerProduct inner_product_param { num_output: 4 axis: 2 }',
    'Scale', 'Scale scale_param { axis: 0 }', 'Scale scale_param { axis: 2 }', 'Bias bias_param { axis: 2 }',
    'Reduction reduction_param { axis: 2 }', 'Reduction reduction_param { axis: 1 operation: MEAN }', 'LayerNorm',
    'Slice slice_param { axis: 0 slice_point: 1 } top: "z"', 'Tile tile_param { axis: 0 tiles: 2 }', 'Swish',
    'Clip clip_param { min: -1 max: 1 }',
    'Transpose transpose_param { dim: 2 dim: 1 dim: 0 }', 'LogSoftmax softmax_param { axis: 0 }',
    'ShuffleChannel shuffle_channel_param { group: 1 }', 'InstanceNorm',
    'GroupNorm group_norm_param { group: 1 affine: false }',
    'Normalize', 'Concat concat_param { axis: 0 }', 'Concat concat_param { axis: 1 }',
    'Lstm lstm_param { num_output: 2 }']


@pytest.mark.parametrize('layer', BETWEEN)
def test_layers_on_a_moved_batch(compare, layer):
    """They are right, or refused."""
    kind, _, options = layer.partition(' ')
    text = permute('a', 'x0', (1, 0, 2)) + 'layer { name: "y" type: "%s" bottom: "a" top: "y" %s }\n' % (kind, options)
    result = compare(['shape { dim: 1 dim: 3 dim: 6 }'], text, (1, 2, 3))
    if isinstance(result, str): assert "layer 'y' (%s)" % kind in result
    else: assert result >= 1


def test_sequences_of_steps(folder, infer, run, summary):
    """Where a layer is recurrent, the first axis holds the steps, and the second one may have any extent."""
    text = '''layer { name: "r" type: "Reverse" bottom: "x0" top: "r" }
layer { name: "l" type: "Lstm" bottom: "r" top: "l" lstm_param { num_output: 3 } }
layer { name: "y" type: "Reverse" bottom: "l" top: "y" }
layer { name: "z" type: "Permute" bottom: "y" top: "z" permute_param { order: 1 order: 0 order: 2 } }'''
    (folder / 'net.prototxt').write_text(inputs_text(['shape { dim: 5 dim: 1 dim: 6 }']) + text)
    weights = draw_weights(summary('net.prototxt'), 'net.npz')[0]
    run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc', '--weights=' + weights)
    for rows in 1, 2, 3:
        x = {'x0': numpy.random.RandomState(rows).normal(0, 1, (5, rows, 6)).astype('f4')}
        theirs, ours = infer('net.prototxt', weights, x, ['z']), infer('new.prototxt', 'new.caffemodel', x, ['z'])
        assert far(ours[0], theirs[0]) < 1e-5, rows
