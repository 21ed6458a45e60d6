"""--half: models with 16-bit floats. onnx accepts them; with --runtime ONNX Runtime returns nearly the same outputs."""
import os
import pathlib

import pytest

from tests.onnx import layers_test
from tests.onnx.models_test import logits
from tests.onnx.random_weights import draw_weights, far, numpy, onnx

MODELS = pathlib.Path(__file__).parent.parent.parent / 'models'
NEAR = {'weights': 2e-3, 'all': 2e-2}
HALF = onnx.TensorProto.FLOAT16
NETS = 'lenet', 'mobilenet_v2', 'squeezenet', 'crnn_digits'


@pytest.fixture
def export(folder, run, summary):
    """export('lenet', *flags) writes net.npz and net.onnx; returns the net, its summary and its outputs."""
    def export(name, *flags):
        net = MODELS / name / 'deploy.prototxt'
        of_net = summary(net)
        outputs = ['scores'] if name == 'crnn_digits' else logits(of_net['layers'], of_net['outputs'])
        draw_weights(of_net, 'net.npz')
        for file, more in (('whole.onnx', ()), ('net.onnx', flags)):
            run('convert', 'onnx', net, 'net.npz', '-o', file, '--blobs=' + ','.join(outputs), *more)
        model = onnx.load('net.onnx')
        onnx.checker.check_model(model, full_check=True)
        assert {each.type.tensor_type.elem_type for each in [*model.graph.input, *model.graph.output]} == {1}
        assert os.path.getsize('net.onnx') < 0.6 * os.path.getsize('whole.onnx')
        return net, of_net, outputs
    return export


def image_of(of_net):
    return {'data': numpy.random.RandomState(1).uniform(-1, 1, [2] + of_net['blobs']['data'][1:]).astype('f4')}


@pytest.mark.parametrize('name', NETS)
def test_weights_in_half(export, infer, name, runtime):
    net, of_net, outputs = export(name, '--half=weights')
    whole = dict(numpy.load('net.npz'))
    rounded = {key: array.astype('f2').astype('f4') if array.ndim >= 2 else array for key, array in whole.items()}
    numpy.savez('rounded.npz', **rounded)
    x = image_of(of_net)
    ours = infer(net, 'rounded.npz', x, outputs)
    if runtime:
        for theirs, y in zip(runtime('net.onnx', x, outputs), ours): assert far(theirs, y) < 1e-5


@pytest.mark.parametrize('name', NETS)
def test_net_in_half(export, infer, name, runtime):
    net, of_net, outputs = export(name, '--half', '--fold')
    x = image_of(of_net)
    ours = infer(net, 'net.npz', x, outputs)
    if runtime:
        for theirs, y in zip(runtime('net.onnx', x, outputs), ours): assert 1e-7 < far(theirs, y) < NEAR['all']


@pytest.mark.parametrize('what', NEAR)
@pytest.mark.parametrize('shapes', layers_test.LAYERS)
def test_layers_in_half(folder, infer, run, runtime, shapes, summary, what):
    layers = layers_test.LAYERS[shapes].strip().split('\n')
    (folder / 'net.prototxt').write_text(layers_test.net_text(shapes, layers))
    of_net = summary('net.prototxt')
    weights = draw_weights(of_net, 'net.npz')
    run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'net.onnx', '--half=' + what)
    onnx.checker.check_model('net.onnx', full_check=True)
    draw = numpy.random.RandomState(3)
    x = {'x%d' % i: draw.normal(0, 1, layers_test.extents(shape)).astype('f4') for i, shape in enumerate(shapes)}
    ours = infer('net.prototxt', weights and weights[0], x, of_net['outputs'])
    if runtime:
        for name, theirs, y in zip(of_net['outputs'], runtime('net.onnx', x, of_net['outputs']), ours):
            kind = layers[int(name[1:])]
            if not kind.startswith('Threshold'): assert far(theirs, y) < NEAR[what], kind


@pytest.mark.parametrize('layer', [kind for kind in layers_test.WRITTEN])
def test_coordinates_and_indices_keep_their_precision(folder, infer, layer, run, runtime, summary):
    arrays = layers_test.WRITTEN[layer]
    shapes = ['shape { %s }' % ' '.join('dim: %d' % dim for dim in array.shape) for array in arrays]
    (folder / 'net.prototxt').write_text(layers_test.net_text(shapes, [layer]))
    of_net = summary('net.prototxt')
    weights = draw_weights(of_net, 'net.npz')
    run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'net.onnx', '--half')
    onnx.checker.check_model('net.onnx', full_check=True)
    x = {'x%d' % i: array.astype('f4') for i, array in enumerate(arrays)}
    ours = infer('net.prototxt', weights and weights[0], x, of_net['outputs'])
    if runtime:
        for theirs, y in zip(runtime('net.onnx', x, of_net['outputs']), ours): assert far(theirs, y) < 1e-5


def test_weights_that_are_too_large_stay_whole(folder, run):
    (folder / 'net.prototxt').write_text('''
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 } } }
layer { name: "y" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 2 bias_term: false } }''')
    numpy.savez('net.npz', **{'y/0': numpy.array([[1, 70000], [0, 1]], 'f4')})
    for what in NEAR:
        run('convert', 'onnx', 'net.prototxt', 'net.npz', '-o', 'net.onnx', '--force', '--half=' + what)
        assert HALF not in {tensor.data_type for tensor in onnx.load('net.onnx').graph.initializer}
