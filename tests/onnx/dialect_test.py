"""Nets in another dialect of Caffe: they compute the same, have only what that dialect has, and OpenCV 4.6 reads those
for BVLC Caffe. Every layer type is kept, rewritten, or refused with its name and place."""
import re

import pytest

from tests.onnx.layers_test import IMAGES, LAYERS, ROWS, STEPS, VOLUMES, extents, inputs_text, net_text
from tests.onnx.random_weights import draw_weights, far, numpy, onnx

BVLC = set('''AbsVal Accuracy ArgMax BatchNorm BatchReindex Bias BNLL Concat ContrastiveLoss Convolution Crop Data
Deconvolution Dropout DummyData Eltwise ELU Embed EuclideanLoss Exp Filter Flatten HDF5Data HDF5Output HingeLoss Im2col
ImageData InfogainLoss InnerProduct Input Log LRN LSTM LSTMUnit MemoryData MultinomialLogisticLoss MVN Parameter Pooling
Power PReLU Python Reduction ReLU Reshape RNN Scale Sigmoid SigmoidCrossEntropyLoss Silence Slice Softmax
SoftmaxWithLoss Split SPP TanH Threshold Tile WindowData'''.split())
SSD = BVLC | set('''AnnotatedData DetectionEvaluate DetectionOutput MultiBoxLoss Normalize Permute PriorBox SmoothL1Loss
VideoData'''.split())
NVCAFFE = (SSD | {'Axpy', 'DetectNetTransformation', 'L1Loss', 'TRT'}) - {'Parameter'}
HAS = {'bvlc': BVLC, 'ssd': SSD, 'nvcaffe': NVCAFFE}
FOREIGN = ('round_mode', 'avg_include_pad', 'relu:', 'lambda', 'clip_param', 'swish_param', 'ceil_mode', 'hole')

MORE = {  # in addition to the layers of layers_test
    (IMAGES,): '''
BatchNorm batch_norm_param { scale_bias: true }
BN bn_param { bn_mode: INFERENCE }
Clip clip_param { min: -300 max: 0.5 }
Clip clip_param { min: -1 max: 3e38 }
Clip clip_param { min: -3.5e38 max: 3.5e38 }
Convolution convolution_param { num_output: 3 kernel_size: 3 hole: 2 pad: 2 engine: MKLDNN }
HardSigmoid hard_sigmoid_param { alpha: 0.2 beta: 0.4 }
Interp interp_param { shrink_factor: 2 }
Interp interp_param { height: 5 width: 11 pad_beg: -2 }
LayerNorm layer_norm_param { axis: 2 eps: 0.1 }
Padding padding_param { pad_beg: -1 pad_end: 2 }
Padding padding_param { pad_beg: 2 pad_end: 2 }
Padding padding_param { pad_beg: -2 pad_end: -1 }
Permute permute_param { order: 0 order: 3 order: 2 order: 1 }
Permute permute_param { order: 0 order: 1 order: 3 order: 2 }
Pooling pooling_param { kernel_size: 2 stride: 2 round_mode: FLOOR }
Pooling pooling_param { kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR }
Pooling pooling_param { kernel_h: 3 kernel_w: 2 stride: 2 pad_h: 1 pad_w: 0 ceil_mode: false }
Pooling pooling_param { kernel_size: 4 stride: 3 pad: 1 round_mode: FLOOR }
Pooling pooling_param { kernel_size: 5 stride: 4 pad: 2 round_mode: FLOOR }
Pooling pooling_param { kernel_size: 2 stride: 4 pad: 1 torch_pooling: true }
Pooling pooling_param { pool: AVE kernel_size: 2 stride: 2 round_mode: FLOOR }
Pooling pooling_param { pool: AVE kernel_size: 4 stride: 3 pad: 1 round_mode: FLOOR }
Pooling pooling_param { pool: AVE kernel_size: 4 stride: 3 pad: 1 round_mode: FLOOR avg_include_pad: false }
Pooling pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 avg_include_pad: false }
ReLU6 relu_param { negative_slope: 0.1 }
Reverse reverse_param { axis: 3 }
SyncBN bn_param { var_eps: 0.01 }
Upsample upsample_param { scale_h: 1 scale_w: 2 }
''',
    (ROWS,): '''
LayerNorm
Swish
GroupNorm group_norm_param { group: 4 affine: false }
Transpose transpose_param { dim: 1 dim: 0 }
''',
    (STEPS,): '''
LayerNorm
Permute permute_param { order: 1 order: 0 order: 2 }
Permute permute_param { order: 2 order: 1 order: 0 }
Permute permute_param { order: 0 order: 2 order: 1 }
''',
    (VOLUMES,): '''
Pooling pooling_param { kernel_size: 2 stride: 2 }
Pooling pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }
Pooling3D pooling3d_param { pool: AVE kernel_size: 3 kernel_depth: 2 stride: 2 temporal_stride: 2 pad: 1 }
PoolingND pooling_nd_param { kernel_size: 2 kernel_size: 3 kernel_size: 4 stride: 2 }
InstanceNorm
''',
    ('shape { dim: 2 dim: 3 dim: 9 }',): '''
PoolingND pooling_nd_param { kernel_size: 3 stride: 2 }
PoolingND pooling_nd_param { kernel_size: 3 stride: 2 pad: 1 pool: AVE }
''',
    ('shape { dim: 2 dim: 12 dim: 1 dim: 1 }', IMAGES, IMAGES): 'Axpy',
}
REFUSED = {  # for BVLC Caffe: the layer, its number of bottoms, and a part of the message
    'Permute permute_param { order: 0 order: 2 order: 3 order: 1 } bottom: "wide"': 'more than 256 slices',
    'MatMul matmul_param { transpose_b: true } bottom: "x0" bottom: "x0"': 'no layer type MatMul: no composition',
    'PriorBox prior_box_param { min_size: 4 } bottom: "x0" bottom: "x0"': '--dialect=ssd and nvcaffe have it',
    'Pooling pooling_param { kernel_size: 2 round_mode: FLOOR pool: STOCHASTIC } bottom: "x0"': 'random',
    'BN bn_param { moving_average: false } bottom: "x0"': 'statistics of each batch',
    'Upsample upsample_param { scale: 2 } bottom: "x0" bottom: "mask"': 'reverses a pooling',
    'Reorg reorg_param { stride: 2 reverse: true } bottom: "x0"': 'reverse is not available',
}
WARNED = {'GELU': 6e-4}  # not exact: the largest difference, relative to the largest value
# OpenCV 4.6 has no layer for some of BVLC Caffe's types and options, or reads them in another way.
NOT_IN_OPENCV = set('''ArgMax Bias Embed Exp Log LSTM Parameter Reduction RNN SPP Threshold Tile MVN Im2col
BatchReindex Filter Python'''.split())


def cases():
    for table in (LAYERS, MORE):
        for shapes, layers in table.items():
            for layer in layers.strip().split('\n'): yield shapes, layer


def case_id(value):
    return value if isinstance(value, str) else 'x'.join(map(str, extents(value[0])))


def types_of(text):
    return re.findall(r'type: "(\w+)"', re.sub(r'filler \{[^}]*\}', '', text))


@pytest.fixture
def subject(folder, summary):
    """subject(text) writes the net and random weights; returns its outputs and the weights."""
    def subject(text):
        (folder / 'net.prototxt').write_text(text)
        of_net = summary('net.prototxt')
        return of_net['outputs'], draw_weights(of_net, 'net.npz')
    return subject


@pytest.fixture
def rewritten(folder, run, subject):
    """rewritten(text, dialect) writes new.prototxt and new.caffemodel; returns outputs, weights of the net, its text."""
    def rewritten(text, dialect, code=0):
        outputs, weights = subject(text)
        weights = weights or [str(folder / 'none.npz')]
        if 'none.npz' in weights[0]: numpy.savez(weights[0], **{'x/0': numpy.zeros(1, 'f4')})
        said = run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=' + dialect, '--weights=' + weights[0],
                   '--force', code=code).stderr
        return outputs, weights, said if code else (folder / 'new.prototxt').read_text()
    return rewritten


def draw_inputs(shapes):
    draw = numpy.random.RandomState(3)
    return {'x%d' % i: draw.normal(0, 1, extents(shape)).astype('f4') for i, shape in enumerate(shapes)}


def forward_in_opencv(inputs, outputs):
    cv2 = pytest.importorskip('cv2')
    net = cv2.dnn.readNetFromCaffe('new.prototxt', 'new.caffemodel')
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    for name, values in inputs.items(): net.setInput(values, name)
    return [net.forward(name) for name in outputs]


def in_opencv(text, shapes):
    """Whether OpenCV 4.6 has all layers of the net, with these options."""
    cv2 = pytest.importorskip('cv2')
    if not cv2.__version__.startswith('4.') or NOT_IN_OPENCV & set(types_of(text)): return False
    return all(len(extents(shape)) == 4 for shape in shapes)


BEYOND = {  # refused, by dialect
    'bvlc': {'MatMul', 'PriorBox', 'VoxelSoftmax', 'Reorg reorg_param { stride: 2 reverse: true }'},
    'ssd': {'MatMul', 'VoxelSoftmax', 'Reorg reorg_param { stride: 2 reverse: true }'},
    'nvcaffe': {'MatMul', 'VoxelSoftmax', 'Reorg reorg_param { stride: 2 reverse: true }'},
}


@pytest.mark.parametrize('dialect', HAS)
@pytest.mark.parametrize('shapes, layer', cases(), ids=case_id)
def test_layer_computes_the_same(dialect, infer, layer, rewritten, shapes):
    if layer in BEYOND[dialect] or layer.partition(' ')[0] in BEYOND[dialect]:
        assert "'tested0'" in rewritten(net_text(shapes, [layer]), dialect, code=3)[2]
        return
    outputs, weights, text = rewritten(net_text(shapes, [layer]), dialect)
    assert set(types_of(text)) <= HAS[dialect]
    if dialect == 'bvlc': assert not any(word in text for word in FOREIGN)
    x = draw_inputs(shapes)
    theirs = infer('net.prototxt', weights[0], x, outputs)
    for a, b in zip(infer('new.prototxt', 'new.caffemodel', x, outputs), theirs):
        assert far(a, b) < WARNED.get(layer, 1e-5)
    if dialect == 'bvlc' and in_opencv(text, shapes):
        for a, b in zip(forward_in_opencv(x, outputs), theirs): assert far(a.reshape(b.shape), b) < 1e-3
