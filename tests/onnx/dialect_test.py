"""Nets in another dialect of Caffe: they compute the same, have only what that dialect has, and OpenCV 4.6 reads those
for BVLC Caffe. Every layer type is kept, rewritten, or refused with its name and place."""
import re

import pytest

from tests.onnx.layers_test import IMAGES, LAYERS, MEMORY, ROWS, STEPS, VOLUMES, extents, inputs_text, net_text
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
Pooling pooling_param { kernel_size: 1 stride: 2 round_mode: FLOOR }
Pooling pooling_param { kernel_h: 1 kernel_w: 2 stride: 4 round_mode: FLOOR }
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
    ('shape { dim: 2 dim: 3 dim: 4 dim: 5 }', 'shape { dim: 2 dim: 3 dim: 5 dim: 6 }'): 'MatMul',
    ('shape { dim: 2 dim: 3 dim: 4 dim: 5 }', 'shape { dim: 2 dim: 3 dim: 6 dim: 5 }'):
        'MatMul matmul_param { transpose_b: true alpha: 0.5 }',
    ('shape { dim: 2 dim: 3 dim: 5 dim: 4 }', 'shape { dim: 2 dim: 3 dim: 5 dim: 6 }'):
        'MatMul matmul_param { transpose_a: true alpha: -2 }',
    ('shape { dim: 2 dim: 3 dim: 5 dim: 4 }', 'shape { dim: 2 dim: 3 dim: 6 dim: 5 }'):
        'MatMul matmul_param { transpose_a: true transpose_b: true }',
    ('shape { dim: 2 dim: 1 dim: 5 }', 'shape { dim: 2 dim: 5 dim: 1 }'): 'MatMul',
}
REFUSED = {  # for BVLC Caffe: the layer, its number of bottoms, and a part of the message
    'Permute permute_param { order: 0 order: 2 order: 3 order: 1 } bottom: "wide"': 'more than 256 slices',
    'MatMul bottom: "rows" bottom: "rows"': 'no layer type MatMul: one of its bottoms is a single matrix',
    'MatMul matmul_param { transpose_b: true } bottom: "wide" bottom: "wide"': 'would multiply 78643200 pairs',
    'PriorBox prior_box_param { min_size: 4 } bottom: "x0" bottom: "x0"': 'use --dialect=ssd or --dialect=nvcaffe',
    'Pooling pooling_param { kernel_size: 2 round_mode: FLOOR pool: STOCHASTIC } bottom: "x0"': 'random',
    'BN bn_param { moving_average: false } bottom: "x0"': 'statistics of each batch',
    'Upsample upsample_param { scale: 2 } bottom: "x0" bottom: "mask"': 'reverses a pooling',
    'Reorg reorg_param { stride: 2 reverse: true } bottom: "x0"': 'reverse is not available',
}
# Types of BVLC Caffe that OpenCV 4.6 does not have, or has in another form.
NOT_IN_OPENCV = set('''ArgMax BatchReindex Bias DummyData Embed Filter Im2col LSTM Parameter Python Reduction RNN SPP
Threshold Tile'''.split())


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
    """rewritten(text, dialect) writes new.prototxt and new.caffemodel; returns outputs, the net's weights, the text."""
    known = {}
    def rewritten(text, dialect, code=0):
        if text not in known:
            known.clear()
            known[text] = subject(text)
        outputs, weights = known[text]
        weights = weights or [str(folder / 'none.npz')]
        if 'none.npz' in weights[0]: numpy.savez(weights[0], **{'x/0': numpy.zeros(1, 'f4')})
        said = run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=' + dialect, '--weights=' + weights[0],
                   '--force', code=code).stderr
        return outputs, weights, said if code else (folder / 'new.prototxt').read_text()
    return rewritten


def draw_inputs(shapes):
    draw = numpy.random.RandomState(3)
    return {'x%d' % i: draw.normal(0, 1, extents(shape)).astype('f4') for i, shape in enumerate(shapes)}


def forward_in_opencv(inputs):
    """The last top: OpenCV knows it by the name of its layer or by its own."""
    cv2 = pytest.importorskip('cv2')
    net = cv2.dnn.readNetFromCaffe('new.prototxt', 'new.caffemodel')
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    for name, values in inputs.items(): net.setInput(values, name)
    with open('new.prototxt') as file: layer = re.findall(r'name: "(\w+)"[^{}]*top: "y0"', file.read())[-1]
    return net.forward(layer if layer in net.getLayerNames() else 'y0')


def in_opencv(text, layer, shapes):
    """Whether OpenCV 4.6 has all layers of the net, with these options. A layer that was kept is not compared."""
    cv2 = pytest.importorskip('cv2')
    types = types_of(text)[len(shapes):]
    if types == [layer.partition(' ')[0]] or types[-2:] == ['Slice', 'Silence']: return False
    if not cv2.__version__.startswith('4.') or NOT_IN_OPENCV & set(types_of(text)): return False
    return all(len(extents(shape)) == 4 for shape in shapes)


EVERYWHERE = {'Attention', 'DenseBlock', 'Lstm lstm_param { num_output: 4 batch_size: 2 }',
              'Normalize normalize_param { normalize_type: "L1" }', 'Reorg reorg_param { stride: 2 reverse: true }',
              'Parameter parameter_param { shape { dim: 1 dim: 4 } }', 'Reverse reverse_param { axis: 0 }'}
BEYOND = {'bvlc': EVERYWHERE | {'PriorBox'}, 'ssd': EVERYWHERE, 'nvcaffe': EVERYWHERE}  # refused, by dialect


@pytest.mark.parametrize('shapes, layer', cases(), ids=case_id)
def test_layer_computes_the_same(infer, layer, rewritten, shapes):
    x, theirs = draw_inputs(shapes), None
    for dialect in HAS:
        if layer in BEYOND[dialect] or layer.partition(' ')[0] in BEYOND[dialect]:
            assert "'tested0'" in rewritten(net_text(shapes, [layer]), dialect, code=3)[2], dialect
            continue
        outputs, weights, text = rewritten(net_text(shapes, [layer]), dialect)
        assert set(types_of(text)) <= HAS[dialect], dialect
        if dialect == 'bvlc': assert not any(word in text for word in FOREIGN)
        theirs = theirs or infer('net.prototxt', weights[0], x, outputs)
        for a, b in zip(infer('new.prototxt', 'new.caffemodel', x, outputs), theirs, strict=True):
            assert far(a, b) < 1e-5, dialect
        if dialect == 'bvlc' and in_opencv(text, layer, shapes):
            assert far(forward_in_opencv(x).reshape(theirs[0].shape), theirs[0]) < 1e-4


@pytest.mark.parametrize('layer', REFUSED)
def test_layer_is_refused(layer, rewritten):
    kind, _, options = layer.partition(' ')
    more = inputs_text((IMAGES,)) + ('layer { name: "rows" type: "Input" top: "rows" input_param { '
                                     'shape { dim: 4 dim: 4 } } }\n'
                                     'layer { name: "wide" type: "Input" top: "wide" input_param { '
                                     'shape { dim: 1 dim: 300 dim: 64 dim: 64 } } }\n'
                                     'layer { name: "pool" type: "Pooling" bottom: "x0" top: "pool" top: "mask" '
                                     'pooling_param { kernel_size: 2 stride: 2 } }\n')
    options = options.replace('bottom: "x0" bottom: "mask"', 'bottom: "pool" bottom: "mask"')
    said = rewritten(more + 'layer { name: "tested0" type: "%s" top: "y0" %s }' % (kind, options), 'bvlc', code=3)[2]
    for part in (REFUSED[layer], "'tested0' (%s)" % kind, 'net.prototxt:5:'): assert part in said, said


def test_layer_in_place_after_a_refused_one(folder, run):
    (folder / 'net.prototxt').write_text(inputs_text((IMAGES,)) + '''
layer { name: "a" type: "BN" bottom: "x0" top: "a" bn_param { moving_average: false } }
layer { name: "b" type: "Mish" bottom: "a" top: "a" }''')
    said = run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc', code=3).stderr
    assert "'a' (BN)" in said and 'Mish' not in said


def types_net(kinds):
    return inputs_text((IMAGES,)) + ''.join('layer { name: "%s" type: "%s" bottom: "x0" top: "of_%s" }\n' % (
        kind, kind, kind) for kind in kinds)


@pytest.mark.parametrize('dialect', HAS)
def test_every_type_is_kept_rewritten_or_refused(dialect, folder, run):
    kinds = re.findall(r'^(\w+) ', run('layers').stdout, re.M)[1:]
    assert len(kinds) > 140
    refused = set()
    for i in range(0, len(kinds), 40):  # the program reports at most 50 errors
        (folder / 'some.prototxt').write_text(types_net(kinds[i:i + 40]))
        said = run('upgrade', 'some.prototxt', 'out.prototxt', '--dialect=' + dialect, code=3).stderr
        refused |= set(re.findall(r"some.prototxt:\d+:\d+: error: layer '(\w+)' \(\1\): ", said))
    # Other forks have no Parameter with a bottom, and no Normalize without a scale.
    assert len(refused) > 10 and refused & HAS[dialect] <= {'Parameter', 'Normalize'}, refused & HAS[dialect]
    (folder / 'rest.prototxt').write_text(types_net(kind for kind in kinds if kind not in refused))
    run('upgrade', 'rest.prototxt', 'out.prototxt', '--dialect=' + dialect)
    types = types_of((folder / 'out.prototxt').read_text())
    assert set(types) <= HAS[dialect]
    assert HAS[dialect] - set(types) <= {'Input', 'Normalize', 'Parameter', 'Python', 'TRT', 'DetectNetTransformation'}


CHAIN = inputs_text(('shape { dim: 2 dim: 4 dim: 8 dim: 8 }',)) + '''
layer { name: "conv" type: "Convolution" bottom: "x0" top: "conv" convolution_param { num_output: 6 kernel_size: 3 } }
layer { name: "relu" type: "ReLU6" bottom: "conv" top: "conv" }
layer { name: "swish" type: "Swish" bottom: "conv" top: "conv" }
layer { name: "both" type: "Eltwise" bottom: "conv" bottom: "conv" top: "both" }
layer { name: "mish" type: "Mish" bottom: "both" top: "both" }
layer { name: "pool" type: "Pooling" bottom: "both" top: "pool"
  pooling_param { kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR } }
layer { name: "up" type: "Upsample" bottom: "pool" top: "up" upsample_param { scale: 2 } }
'''


def test_gelu_is_near_for_all_values(infer, rewritten):
    shape = 'shape { dim: 1 dim: 1 dim: 1 dim: 4001 }'
    _, _, text = rewritten(net_text((shape,), ['GELU']), 'bvlc')
    x = numpy.linspace(-8, 8, 4001, dtype='f4')
    x[:6] = [-1e30, -1e6, -100, 100, 1e6, 1e30]
    x = x.reshape(1, 1, 1, 4001)
    ours, theirs = (infer(net, None, {'x0': x}, ['y0'])[0] for net in ('new.prototxt', 'net.prototxt'))
    assert abs(ours - theirs)[0, 0, 0, 6:].max() < 4e-6
    assert far(ours, theirs) < 1e-6 and (abs(ours[0, 0, 0, :3]) < 1e-6).all()


def test_lstm_with_its_indicator(infer, rewritten):
    text = inputs_text((STEPS,)) + MEMORY
    _, weights, text = rewritten(text, 'bvlc')
    assert 'DummyData' in text
    x = draw_inputs((STEPS,))
    ours, theirs = (infer(*net, x, ['y0'])[0] for net in (('new.prototxt', 'new.caffemodel'),
                                                         ('net.prototxt', weights[0])))
    assert far(ours, theirs) < 1e-5


def test_layers_in_place(infer, rewritten):
    outputs, weights, text = rewritten(CHAIN, 'bvlc')
    x = draw_inputs(('shape { dim: 2 dim: 4 dim: 8 dim: 8 }',))
    (theirs,), (ours,) = (infer(*net, x, ['up']) for net in (('net.prototxt', weights[0]),
                                                            ('new.prototxt', 'new.caffemodel')))
    assert far(ours, theirs) < 1e-5
    tops = re.findall(r'top: "(\w+)"', text)
    assert len(tops) == len(set(tops)), 'a composition works in place'
    cv2 = pytest.importorskip('cv2')
    net = cv2.dnn.readNetFromCaffe('new.prototxt', 'new.caffemodel')
    net.setInput(x['x0'])
    assert far(net.forward(), theirs) < 1e-4


def test_layer_in_place_on_an_input(infer, rewritten):
    text = CHAIN.partition('layer { name: "conv"')[0] + '''
layer { name: "hard" type: "HardSwish" bottom: "x0" top: "x0" }
layer { name: "sum" type: "Power" bottom: "x0" top: "y0" power_param { shift: 1 } }'''
    _, weights, _ = rewritten(text, 'bvlc')
    x = draw_inputs(('shape { dim: 2 dim: 4 dim: 8 dim: 8 }',))
    assert far(infer('new.prototxt', None, x, ['y0'])[0], infer('net.prototxt', None, x, ['y0'])[0]) < 1e-5


@pytest.mark.parametrize('batch', [1, 3])
def test_any_batch(batch, infer, rewritten):
    """Shapes in the new net do not fix the batch."""
    layers = ['LayerNorm layer_norm_param { axis: 2 }', 'ShuffleChannel shuffle_channel_param { group: 3 }',
              'Interp interp_param { height: 4 width: 5 }', 'Normalize', 'GroupNorm group_norm_param { group: 3 }',
              'Permute permute_param { order: 0 order: 2 order: 3 order: 1 }']
    outputs, weights, _ = rewritten(net_text((IMAGES,), layers), 'bvlc')
    x = {'x0': numpy.random.RandomState(5).normal(0, 1, (batch, 12, 9, 11)).astype('f4')}
    theirs, ours = infer('net.prototxt', weights[0], x, outputs), infer('new.prototxt', 'new.caffemodel', x, outputs)
    for a, b in zip(ours, theirs): assert a.shape[0] == batch and far(a, b) < 1e-5


def test_weights_are_required_where_they_change(folder, infer, run, subject):
    subject(CHAIN)
    said = run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc', code=3).stderr
    assert "'up' (Upsample)" in said and '--weights=FILE' in said and not (folder / 'new.prototxt').exists()
    _, weights = subject(CHAIN.partition('layer { name: "up"')[0])
    run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc')
    assert not (folder / 'new.caffemodel').exists() and 'Slice' in (folder / 'new.prototxt').read_text()
    x = draw_inputs(('shape { dim: 2 dim: 4 dim: 8 dim: 8 }',))
    ours, theirs = (infer(net, weights[0], x, ['pool'])[0] for net in ('new.prototxt', 'net.prototxt'))
    assert far(ours, theirs) < 1e-5


def test_layers_keep_the_names_of_their_weights(folder, infer, run, subject):
    """Without --weights the net's own weights must fit."""
    layers = ['Convolution convolution_param { num_output: 4 kernel_size: 1 relu: true }',
              'ConvolutionDepthwise convolution_param { kernel_size: 3 }',
              'InnerProduct inner_product_param { num_output: 4 relu: true }']
    outputs, weights = subject(net_text((IMAGES,), layers))
    run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc')
    assert 'ReLU' in (folder / 'new.prototxt').read_text()
    x = draw_inputs((IMAGES,))
    for a, b in zip(*(infer(net, weights[0], x, outputs) for net in ('new.prototxt', 'net.prototxt'))):
        assert far(a, b) < 1e-5


RARE = {  # layers of BVLC Caffe that many readers lack, and what an inference net has instead
    'Bias': {'Scale'},
    'Bias bias_param { num_axes: 0 }': {'Power'},
    'Bias bottom: "rows" bias_param { axis: 0 }': {'Convolution', 'Eltwise', 'Reshape'},
    'InnerProduct inner_product_param { num_output: 5 axis: 3 }': {'Convolution', 'Reshape'},
    'InnerProduct inner_product_param { num_output: 5 axis: 2 bias_term: false }': {'Convolution', 'Reshape'},
    'Reduction reduction_param { axis: 2 operation: MEAN coeff: 3 }': {'Convolution', 'Reshape'},
    'Reduction reduction_param { axis: 1 operation: SUM }': {'Convolution', 'Reshape'},
    'Reduction reduction_param { axis: 3 operation: ASUM }': {'AbsVal', 'Convolution', 'Reshape'},
    'Reduction reduction_param { axis: -1 operation: SUMSQ coeff: -1 }': {'Convolution', 'Eltwise', 'Reshape'},
    'Scale bottom: "rows" scale_param { axis: 0 }': {'Convolution', 'Eltwise', 'Reshape'},
    'Scale scale_param { axis: 2 bias_term: true }': {'Reshape', 'Scale'},
    'Scale scale_param { axis: 1 num_axes: 2 }': {'Reshape', 'Scale'},
}


@pytest.mark.parametrize('layer', RARE)
def test_layer_that_many_readers_lack(folder, infer, layer, rewritten, run):
    kind, _, options = layer.partition(' ')
    text = net_text((IMAGES, 'shape { dim: 2 dim: 12 }'), []) + (
        'layer { name: "tested0" type: "%s" bottom: "x0" top: "y0" %s }' % (kind, options.replace('rows', 'x1')))
    outputs, weights, text = rewritten(text, 'bvlc')
    assert set(types_of(text)) == RARE[layer] | {'Input'}
    for line in re.findall(r'axis: .*', text): assert 'Scale' in types_of(text) and line == 'axis: 1'
    x = {**draw_inputs((IMAGES,)), 'x1': numpy.random.RandomState(4).normal(0, 1, (2, 12)).astype('f4')}
    theirs, ours = infer('net.prototxt', weights[0], x, ['y0']), infer('new.prototxt', 'new.caffemodel', x, ['y0'])
    assert far(ours[0], theirs[0]) < 1e-5
    (folder / 'loss.prototxt').write_text((folder / 'net.prototxt').read_text() + (
        'layer { name: "loss" type: "EuclideanLoss" bottom: "y0" bottom: "y0" top: "loss" }'))
    run('upgrade', 'loss.prototxt', 'same.prototxt', '--dialect=bvlc', '--weights=' + weights[0])
    assert types_of((folder / 'same.prototxt').read_text())[-2:] == [kind, 'EuclideanLoss']


def test_pairs_of_a_window_are_named(folder, run):
    """Some readers take the first value for both."""
    (folder / 'net.prototxt').write_text(net_text((IMAGES,), [
        'Convolution convolution_param { num_output: 2 kernel_size: 3 kernel_size: 1 stride: 2 stride: 2 '
        'pad: 1 pad: 0 }']))
    run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc')
    text = (folder / 'new.prototxt').read_text()
    for part in ('kernel_h: 3', 'kernel_w: 1', 'stride: 2', 'pad_h: 1', 'pad_w: 0'): assert text.count(part) == 1, part
    assert 'kernel_size' not in text and 'pad:' not in text


def test_usage(folder, run, subject):
    _, weights = subject(CHAIN)
    (folder / 'solver.prototxt').write_text('net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed"')
    for words, part in ((('net.prototxt', 'a.prototxt', '--weights=net.npz'), '--weights requires --dialect'),
                        (('net.prototxt', '-', '--dialect=bvlc', '--weights=net.npz'), 'requires an output file'),
                        (('solver.prototxt', 'a.prototxt', '--dialect=ssd'), 'is a solver'),
                        (('net.prototxt', 'a.prototxt', '--dialect=intel'), 'intel')):
        assert part in run('upgrade', *words, code=2).stderr


def test_binary_net_keeps_net_and_weights_in_one_file(folder, infer, rewritten, run):
    """A file of a net with its weights: only messages of the format are needed to make one."""
    _, weights, _ = rewritten(CHAIN, 'bvlc')
    x = draw_inputs(('shape { dim: 2 dim: 4 dim: 8 dim: 8 }',))
    theirs = infer('net.prototxt', weights[0], x, ['up'])[0]
    run('upgrade', 'new.caffemodel', 'same.caffemodel', '--dialect=bvlc')
    assert far(infer('new.prototxt', 'same.caffemodel', x, ['up'])[0], theirs) < 1e-5


def test_deploy(folder, infer, run, subject, summary):
    train = CHAIN + '''layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
layer { name: "fc" type: "InnerProduct" bottom: "up" top: "fc" inner_product_param { num_output: 3 } }
layer { name: "drop" type: "SpatialDropout" bottom: "up" top: "dropped" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }'''
    _, weights = subject(train)
    said = run('upgrade', 'net.prototxt', 'no.prototxt', '--dialect=bvlc', '--weights=net.npz', code=3).stderr
    assert 'for inference only' in said
    run('deploy', 'net.prototxt', '-o', 'plain.prototxt')
    run('deploy', 'net.prototxt', '-o', 'new.prototxt', '--dialect=bvlc', '--weights=net.npz')
    x = {'x0': numpy.random.RandomState(5).normal(0, 1, (1, 4, 8, 8)).astype('f4')}
    outputs = summary('plain.prototxt')['outputs']
    theirs, ours = infer('plain.prototxt', 'net.npz', x, outputs), infer('new.prototxt', 'new.caffemodel', x, outputs)
    assert far(ours[0], theirs[0]) < 1e-5


def test_model_becomes_a_net_of_the_dialect(folder, infer, run):
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, shape) for name, shape in (('x', ['n', 3, 9, 9]), ('y', None)))
    sizes = helper.make_tensor('sizes', onnx.TensorProto.INT64, [4], [1, 3, 7, 6])
    nodes = [helper.make_node('MaxPool', ['x'], ['p'], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node('HardSwish', ['p'], ['h']),
             helper.make_node('Resize', ['h', '', '', 'sizes'], ['y'], mode='linear')]
    graph = helper.make_graph(nodes, 'small', [x], [y], [sizes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 14)]), 'small.onnx')
    run('convert', 'onnx', 'small.onnx', '-o', 'own.prototxt')
    run('convert', 'onnx', 'small.onnx', '-o', 'new.prototxt', '--dialect=bvlc')
    text = (folder / 'new.prototxt').read_text()
    assert set(types_of(text)) <= BVLC and text.count('Reshape') == 4
    assert 'Upsample' not in text and 'round_mode' not in text
    values = numpy.random.RandomState(2).normal(0, 1, (2, 3, 9, 9)).astype('f4')
    theirs, ours = (infer(name + '.prototxt', name + '.caffemodel', {'x': values}, ['y'])[0] for name in ('own', 'new'))
    assert far(ours, theirs) < 1e-5
    assert 'for importing' in run('convert', 'onnx', 'own.prototxt', 'own.caffemodel', '-o', 'x.onnx', '--dialect=bvlc',
                                  code=2).stderr


@pytest.mark.parametrize('eps, least', ((1e-8, 1e-5), (4e-5, 4e-5)))
def test_least_eps_of_nvidia(eps, folder, infer, least, run, subject):
    """With variances as small as eps, in the net, in another dialect and in a model."""
    options = 'batch_norm_param { scale_bias: true eps: %g } phase: TEST' % eps
    outputs, weights = subject(net_text(('shape { dim: 1 dim: 3 dim: 2 dim: 2 }',), ['BatchNorm ' + options]))
    [layer] = {name.partition('/')[0] for name in numpy.load(weights[0])}
    ones = numpy.ones(3, 'f4')
    variance = numpy.array([5e-6, 1e-5, 2e-5], 'f4')
    x = numpy.random.RandomState(1).normal(0, 0.005, (1, 3, 2, 2)).astype('f4')
    blobs = 0 * ones, variance, ones[:1], ones, 0 * ones
    numpy.savez('net.npz', **{'%s/%d' % (layer, i): blob for i, blob in enumerate(blobs)})
    run('upgrade', 'net.prototxt', 'new.prototxt', '--dialect=bvlc', '--weights=net.npz', '--force')
    run('convert', 'onnx', 'net.prototxt', 'net.npz', '-o', 'net.onnx', '--force')
    wanted = x / numpy.sqrt(variance + least).reshape(1, 3, 1, 1)
    for net, file in (('net.prototxt', 'net.npz'), ('new.prototxt', 'new.caffemodel'), ('net.onnx', None)):
        assert far(infer(net, file, {'x0': x}, outputs)[0], wanted.astype('f4')) < 1e-4, net
