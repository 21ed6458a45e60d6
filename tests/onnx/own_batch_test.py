"""A model either takes any batch and computes for each what the net computes, or has a fixed batch, with a warning that
names the layer. Also for layers and nets that work along the first axis."""
import re

import pytest

from tests.onnx.layers_test import IMAGES, LAYERS, ROWS, STEPS, extents, inputs_text, layer_text
from tests.onnx.random_weights import draw_weights, far, numpy, onnx

from onnx import TensorProto, helper, numpy_helper

ALONG_THE_FIRST = {  # the text after `type: `, by the shapes of the bottoms
    (ROWS,): '''
Scale scale_param { axis: 0 }
Scale scale_param { axis: 0 num_axes: 1 bias_term: true }
Bias bias_param { axis: 0 }
Slice slice_param { axis: 0 slice_point: 1 } top: "z"
Tile tile_param { axis: 0 tiles: 3 }
Reduction
Reduction reduction_param { operation: MEAN }
Softmax softmax_param { axis: 0 }
ArgMax argmax_param { axis: 0 }
Flatten flatten_param { axis: 0 }
Reshape reshape_param { shape { dim: -1 dim: 3 } }
Reshape reshape_param { shape { dim: 3 dim: -1 } }
Reshape reshape_param { shape { dim: 1 dim: -1 dim: 12 } }
Reverse reverse_param { axis: 0 }
Permute permute_param { order: 1 order: 0 }
MVN mvn_param { across_channels: true }
''',
    (STEPS,): '''
Permute permute_param { order: 1 order: 0 order: 2 }
Permute permute_param { order: 2 order: 1 order: 0 }
Scale scale_param { axis: 0 num_axes: -1 }
LayerNorm layer_norm_param { axis: 0 }
''',
    (IMAGES, IMAGES): '''
Concat concat_param { axis: 0 }
''',
    (IMAGES, 'shape { dim: 1 dim: 12 dim: 5 dim: 6 }'): '''
Crop crop_param { axis: 0 offset: 1 offset: 0 offset: 1 offset: 2 }
''',
}
TABLES = [(table, shapes) for table in (LAYERS, ALONG_THE_FIRST) for shapes in table]
FIXED = {  # by the number of bottoms
    1: '''
Scale scale_param { axis: 0 }
Scale scale_param { axis: 0 num_axes: 1 bias_term: true }
Scale scale_param { axis: 0 num_axes: -1 }
Bias bias_param { axis: 0 }
Slice slice_param { axis: 0 slice_point: 1 } top: "z"
LayerNorm layer_norm_param { axis: 0 }
Lstm lstm_param { num_output: 4 batch_size: 2 }
'''.split('\n'),
    2: '''
Attention attention_param { heads: 2 }
Crop crop_param { axis: 0 offset: 1 offset: 0 offset: 1 offset: 2 }
'''.split('\n'),
}
NETS = {  # on 5 x 2 x 6 values
    'moved to the channels': '''layer { name: "a" type: "Permute" bottom: "x0" top: "a"
        permute_param { order: 1 order: 0 order: 2 } } layer { name: "b" type: "InstanceNorm" bottom: "a" top: "y" }''',
    'slices of steps': '''layer { name: "a" type: "Slice" bottom: "x0" top: "a" top: "b" slice_param { axis: 0
        slice_point: 2 } }
        layer { name: "b" type: "Concat" bottom: "b" bottom: "a" top: "y" concat_param { axis: 0 } }''',
    'factors of steps': '''layer { name: "a" type: "Scale" bottom: "x0" top: "a" scale_param { axis: 0 } }
        layer { name: "b" type: "Sigmoid" bottom: "a" top: "y" }''',
    'static inputs of steps': '''layer { name: "c" type: "ContinuationIndicator" top: "c" continuation_indicator_param {
        time_step: 5 batch_size: 2 } }
        layer { name: "s" type: "Slice" bottom: "x0" top: "s" top: "t" slice_param { axis: 0 slice_point: 1 } }
        layer { name: "f" type: "Reshape" bottom: "s" top: "f" reshape_param { shape { dim: 2 dim: 6 } } }
        layer { name: "t" type: "Silence" bottom: "t" } layer { name: "b" type: "LSTM" bottom: "x0" bottom: "c"
        bottom: "f" top: "y" recurrent_param { num_output: 3 } }''',
}


@pytest.fixture
def converted(folder, run, summary):
    """converted(net) writes net.onnx; returns the outputs, the weights, and whether the batch is fixed."""
    def converted(text):
        (folder / 'net.prototxt').write_text(text)
        of_net = summary('net.prototxt')
        weights = draw_weights(of_net, 'net.npz')
        said = run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'net.onnx', '--force').stderr
        warned = re.findall(r"batch size is fixed, because (?:the net's|that of layer '.*' \(.*\)) is", said)
        open_dims = [dim.dim_param for each in onnx.load('net.onnx').graph.input
                     for dim in each.type.tensor_type.shape.dim]
        assert len(warned) == ('N' not in open_dims) <= 1
        return of_net['outputs'], weights and weights[0], bool(warned)
    return converted


def drawn(shapes, more):
    sizes = [extents(shape) for shape in shapes]
    return {'x%d' % i: numpy.random.RandomState(i).normal(0, 1, (size[0] + more, *size[1:])).astype('f4')
            for i, size in enumerate(sizes)}


@pytest.mark.parametrize('table, shapes', TABLES, ids=range(len(TABLES)))
def test_every_layer_at_other_batches(converted, folder, infer, runtime, shapes, table):
    layers = table[shapes].strip().split('\n')
    fixed = [layer for layer in layers if converted(inputs_text(shapes) + layer_text(0, len(shapes), layer))[2]]
    assert fixed == [layer for layer in layers if layer in FIXED.get(len(shapes), [])]
    rest = ''.join(layer_text(i, len(shapes), layer) for i, layer in enumerate(layers)
                   if layer not in fixed and not layer.startswith('Lstm'))  # whose batch is the second axis
    if not rest: return
    outputs, weights, is_fixed = converted(inputs_text(shapes) + rest)
    assert not is_fixed
    for more in 0, 1, 2, -1:
        x = drawn(shapes, more)
        sizes = ['shape { %s }' % ' '.join('dim: %d' % dim for dim in values.shape) for values in x.values()]
        (folder / 'other.prototxt').write_text(inputs_text(sizes) + rest)
        wanted = infer('other.prototxt', weights, x, outputs)
        for other in (infer('net.onnx', None, x, outputs), runtime and runtime('net.onnx', x, outputs)):
            for name, mine, theirs in zip(outputs, wanted, other or wanted):
                assert far(theirs, mine) < 1e-5, (layers[int(name[1:])], more)


@pytest.mark.parametrize('name', NETS)
def test_nets_along_the_first_axis(converted, infer, name, runtime):
    outputs, weights, fixed = converted(inputs_text((STEPS,)) + NETS[name])
    assert fixed
    x = drawn((STEPS,), 0)
    wanted = infer('net.prototxt', weights, x, outputs)
    others = [infer('net.onnx', None, x, outputs)] if 'static' not in name else []
    for other in others + ([runtime('net.onnx', x, outputs)] if runtime else []):
        assert all(far(theirs, mine) < 1e-5 for mine, theirs in zip(wanted, other))


@pytest.mark.parametrize('cont, layer', (
    ('', 'type: "Lstm" bottom: "x0" lstm_param { num_output: 3 }'),
    ('type: "ContinuationIndicator" continuation_indicator_param { time_step: 5 batch_size: 2 }',
     'type: "LSTM" bottom: "x0" bottom: "c" recurrent_param { num_output: 3 }'),
    ('type: "ContinuationIndicator" continuation_indicator_param { time_step: 5 axis: 1 } bottom: "x0"',
     'type: "RNN" bottom: "x0" bottom: "c" recurrent_param { num_output: 3 }')))
def test_sequences_are_the_batch_of_steps(cont, converted, infer, layer, runtime):
    """Steps x sequences x values: the second axis is open."""
    net = inputs_text((STEPS,)) + ('layer { name: "c" top: "c" %s }\n' % cont if cont else '')
    outputs, weights, fixed = converted(net + 'layer { name: "y" top: "y" %s }\n' % layer)
    assert not fixed
    [graph_input] = onnx.load('net.onnx').graph.input
    assert [dim.dim_param or dim.dim_value for dim in graph_input.type.tensor_type.shape.dim] == [5, 'N', 6]
    x = numpy.random.RandomState(2).normal(0, 1, (5, 6, 6)).astype('f4')
    parts = [infer('net.prototxt', weights, {'x0': x[:, i:i + 2]}, outputs)[0] for i in (0, 2, 4)]
    wanted = numpy.concatenate(parts, 1)
    if 'RNN' not in layer: assert far(infer('net.onnx', None, {'x0': x}, outputs)[0], wanted) < 1e-5
    if runtime: assert far(runtime('net.onnx', {'x0': x}, outputs)[0], wanted) < 1e-5


def test_gru_goes_back(converted, folder, infer, run, runtime):
    """Imported, it is a net of slices along the first axis, which are the steps."""
    draw = numpy.random.RandomState(1)
    weights = {'w': (1, 9, 4), 'r': (1, 9, 3), 'b': (1, 18)}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in
            (('x0', [5, 1, 4]), ('y', None)))
    graph = helper.make_graph([helper.make_node('GRU', ['x0', 'w', 'r', 'b'], ['y'], hidden_size=3)], 'net', [x], [y],
                              [numpy_helper.from_array(draw.normal(0, 1, dims).astype('f4'), name)
                               for name, dims in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7), 'gru.onnx')
    run('convert', 'onnx', 'gru.onnx', '-o', 'gru.prototxt')
    said = run('convert', 'onnx', 'gru.prototxt', 'gru.caffemodel', '-o', 'net.onnx').stderr
    assert 'batch size is fixed' in said
    [graph_input] = onnx.load('net.onnx').graph.input
    assert [dim.dim_value for dim in graph_input.type.tensor_type.shape.dim] == [5, 1, 4]
    x = {'x0': draw.normal(0, 1, (5, 1, 4)).astype('f4')}
    wanted = infer('gru.onnx', None, x, ['y'])
    assert far(infer('net.onnx', None, x, ['y'])[0], wanted[0]) < 1e-5
    if runtime: assert far(runtime('net.onnx', x, ['y'])[0], runtime('gru.onnx', x, ['y'])[0]) < 1e-5
