"""The nets of models/ as ONNX: Python's onnx accepts them, and OpenCV (with --runtime ONNX Runtime) returns this
program's outputs, as does the net imported from the model. --all also tests large nets and other forms."""
import pathlib

import pytest

from tests.onnx.random_weights import draw_weights, far, numpy, onnx

MODELS = pathlib.Path(__file__).parent.parent.parent / 'models'
LARGE = 'alexnet', 'caffenet', 'vgg16', 'resnet50', 'resnet50_v1_5'
# Before layers whose operators OpenCV 4 does not run, and import does not read.
STOPS = {'crnn_digits': 'scores', 'ssd_fashion': 'mbox_loc,mbox_conf_flatten'}
NOT_IN_OPENCV = ('vit_tiny',)  # it has LayerNormalization
BATCHES = (1, 3)
NEAR = 1e-5


def logits(layers, outputs):
    """The net's outputs, with probabilities, which hide differences, replaced by their logits."""
    return [layer['bottoms'][0] if layer['type'] == 'Softmax' else output for output in outputs
            for layer in [next(layer for layer in layers if output in layer['tops'])]]


def with_opencv(model, inputs, outputs):
    net = pytest.importorskip('cv2').dnn.readNetFromONNX(model)
    net.setInput(inputs['data'], 'data')
    return [numpy.asarray(y) for y in net.forward(outputs)]


def pytest_generate_tests(metafunc):
    whole = metafunc.config.getoption('--all')
    names = sorted(path.parent.name for path in MODELS.glob('*/deploy.prototxt'))
    metafunc.parametrize('name', [name for name in names if whole or name not in LARGE])
    forms = ['', '--fold']
    metafunc.parametrize('form', forms if whole else forms[-1:])


def test_model_computes_the_same(folder, infer, name, form, run, runtime, summary):
    net = MODELS / name / 'deploy.prototxt'
    of_net = summary(net)
    outputs = STOPS[name].split(',') if name in STOPS else of_net['outputs']
    outputs = logits(of_net['layers'], outputs)
    draw_weights(of_net, 'net.npz')
    flags = ([] if runtime else ['--for=opencv4']) + ([form] if form else [])
    run('convert', 'onnx', net, 'net.npz', '-o', 'net.onnx', '--blobs=' + ','.join(outputs), *flags, timeout=300)
    onnx.checker.check_model('net.onnx')
    run('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', timeout=300)
    for batch in BATCHES:
        if name == 'crnn_digits' and batch > 1 and not runtime:
            continue  # its LSTM keeps the batch size of its first run
        x = numpy.random.RandomState(batch).uniform(-1, 1, [batch] + of_net['blobs']['data'][1:]).astype('f4')
        ours = infer(net, 'net.npz', {'data': x}, outputs)
        back = infer('back.prototxt', 'back.caffemodel', {'data': x}, outputs)
        if runtime or name not in NOT_IN_OPENCV:
            theirs = (runtime or with_opencv)('net.onnx', {'data': x}, outputs)
            assert max(far(a, b) for a, b in zip(theirs, ours)) < NEAR, batch
        assert max(far(a, b) for a, b in zip(back, ours)) < NEAR, batch
