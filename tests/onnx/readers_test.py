"""--for=PROGRAM: the forms of operators that other programs read. OpenCV, the installed version, runs them."""
import pytest

from tests.onnx.detectors_test import LAYERS, net_of
from tests.onnx.random_weights import far, numpy, onnx

cv2 = pytest.importorskip('cv2')
VERSION = int(cv2.__version__.split('.')[0])
IMAGE = numpy.random.RandomState(4).normal(0, 1, (2, 6, 5, 7)).astype('f4')
REPLACED = {  # for OpenCV 4: the operator that it does not know, and the layer
    'Clip': 'Clip clip_param { min: -0.4 max: 0.7 }',
    'Clip ': 'ReLU6',
    'ReduceSum': 'Reduction reduction_param { axis: 2 coeff: 0.5 }',
    'Split': 'Slice slice_param { slice_point: 1 slice_point: 4 } top: "z0" top: "w0"',
    'Split ': 'Slice slice_param { axis: 2 slice_point: 2 } top: "z0"',
}


def with_opencv(arrays, outputs):
    net = cv2.dnn.readNetFromONNX('net.onnx')
    for i, array in enumerate(arrays): net.setInput(array, 'x%d' % i)
    return [numpy.asarray(y) for y in net.forward(outputs)]


@pytest.fixture
def compare(folder, infer, run, summary):
    """compare(layer, arrays, *flags) checks what OpenCV returns; returns the operators of the model."""
    def compare(layer, arrays, *flags):
        (folder / 'net.prototxt').write_text(net_of(layer, arrays))
        run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', *flags)
        onnx.checker.check_model('net.onnx', full_check=True)
        outputs = summary('net.prototxt')['outputs']
        ours = infer('net.prototxt', None, {'x%d' % i: array for i, array in enumerate(arrays)}, outputs)
        for theirs, y in zip(with_opencv(arrays, outputs), ours): assert far(theirs.reshape(y.shape), y) < 1e-5
        return [node.op_type for node in onnx.load('net.onnx').graph.node]
    return compare


@pytest.mark.parametrize('operator', REPLACED)
def test_operators_that_opencv_4_does_not_know_are_replaced(compare, operator):
    assert operator.strip() not in compare(REPLACED[operator], [IMAGE], '--for=opencv4')


def test_former_flag_is_opencv_4(compare, run):
    assert 'Clip' not in compare('ReLU6', [IMAGE], '--opencv')
    said = run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', '--force', '--opencv').stderr
    assert '--opencv is deprecated: use --for=opencv4' in said
    run('convert', 'onnx', 'net.prototxt', '-o', 'new.onnx', '--opencv', '--for=opencv5', code=2)
    run('convert', 'onnx', 'net.prototxt', '-o', 'new.onnx', '--for=opencv', code=2)


@pytest.mark.skipif(VERSION < 5, reason='OpenCV 5 is not installed')
@pytest.mark.parametrize('layer, arrays', [case for case in LAYERS if 'keep_top_k: 30' not in case[0]])  # equal scores
def test_opencv_5_detects_the_same(arrays, compare, layer):
    compare(layer, arrays, '--for=opencv5')


@pytest.mark.parametrize('program, words', [
    ('opencv4', ['OpenCV 4.6 does not support TopK', 'OpenCV 4.6 does not support NonMaxSuppression']),
    ('opencv5', []), ('tensorrt', []), ('onnxruntime', [])])
def test_operators_without_a_replacement_are_reported(folder, program, run, words):
    (folder / 'net.prototxt').write_text(net_of(*LAYERS[0]))
    said = run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', '--for=' + program).stderr
    for part in words: assert part in said
    assert words or 'does not support' not in said


def test_tensorrt_computes_sums_in_float32(folder, run):
    (folder / 'net.prototxt').write_text(net_of(*next(case for case in LAYERS if case[0].startswith('PSROI'))))
    said = run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', '--for=tensorrt').stderr
    assert 'TensorRT 10 does not support double (it computes in float32 instead)' in said
