"""--int8: nets with scales for 8-bit integers. onnx accepts the models; with --runtime ONNX Runtime computes as this
program does on integers, which is far closer than floats are."""
import pathlib
import re

import pytest

from tests.onnx.random_weights import draw_weights, numpy, onnx

MODELS = pathlib.Path(__file__).parent.parent.parent / 'models'
INPUT = re.compile(r'layer \{[^}]*type: "Input"[^}]*\{[^}]*\{[^}]*\}[^}]*\}\s*\}')


@pytest.fixture
def quantized(folder, run, summary):
    """quantized('resnet18') writes net.npz, and eight.prototxt with scales for typical inputs."""
    def quantized(name):
        net = MODELS / name / 'deploy.prototxt'
        of_net = summary(net)
        draw_weights(of_net, 'net.npz')
        dims = ' '.join('dim: %d' % dim for dim in [2] + of_net['blobs']['data'][1:])
        data = ('layer { name: "data" type: "DummyData" top: "data" dummy_data_param { shape { %s } '
                'data_filler { type: "uniform" min: -1 max: 1 } } }' % dims)
        text, count = INPUT.subn(data, net.read_text())
        assert count == 1
        (folder / 'typical.prototxt').write_text(text)
        run('quantize', net, 'net.npz', '--calibrate=typical.prototxt', '-o', 'eight', '--batches=2', '--compare=1',
            '--all', '--last', '--method=max', timeout=300)
    return quantized


def deviation(a, b):
    assert a.shape == b.shape
    return float(numpy.sqrt(((a - b) ** 2).mean() / (b ** 2).mean()))


# Values that lie between two integers may be rounded to either, which later layers magnify: so the net ends early.
@pytest.mark.parametrize('name, blob', [('squeezenet', 'fire2/concat'), ('resnet18', 'res2a'),
                                        ('mobilenet_v2', 'conv2_1/linear')])
def test_net_on_integers(blob, folder, infer, name, quantized, run, runtime, summary):
    quantized(name)
    run('deploy', 'eight.prototxt', '-o', 'cut.prototxt', '--blobs=' + blob)
    run('convert', 'onnx', 'cut.prototxt', 'net.npz', '-o', 'net.onnx', '--int8')
    run('convert', 'onnx', 'cut.prototxt', 'net.npz', '-o', 'floats.onnx')
    model = onnx.load('net.onnx')
    onnx.checker.check_model(model, full_check=True)
    products = [node for node in model.graph.node if node.op_type in ('Conv', 'Gemm')]
    nodes = {output: node for node in model.graph.node for output in node.output}
    on_integers = [node for node in products if node.input[1] in nodes]
    assert len(on_integers) == (folder / 'cut.prototxt').read_text().count('bw_params: 8') > 1
    for node in on_integers: assert nodes[node.input[0]].op_type == 'DequantizeLinear'
    shape = [2] + summary('cut.prototxt')['blobs']['data'][1:]
    x = {'data': numpy.random.RandomState(1).uniform(-1, 1, shape).astype('f4')}
    ours = infer('cut.prototxt', 'net.npz', x, [blob])[0]
    if runtime:
        on_floats = deviation(runtime('floats.onnx', x, [blob])[0], ours)
        assert deviation(runtime('net.onnx', x, [blob])[0], ours) < 0.15 * on_floats, on_floats


def test_unsigned_integers_are_reported(quantized, run):
    quantized('squeezenet')
    said = run('convert', 'onnx', 'eight.prototxt', 'net.npz', '-o', 'net.onnx', '--int8', '--for=tensorrt').stderr
    assert 'TensorRT 10 does not support uint8' in said


def test_net_without_scales_is_an_error(folder, run, summary):
    net = MODELS / 'lenet' / 'deploy.prototxt'
    draw_weights(summary(net), 'net.npz')
    for flags, words in ((['--int8'], 'no layer of the net computes on 8-bit integers'),
                         (['--int8', '--half'], '--int8 and --half exclude each other')):
        assert words in run('convert', 'onnx', net, 'net.npz', '-o', 'no.onnx', *flags, code=2).stderr
