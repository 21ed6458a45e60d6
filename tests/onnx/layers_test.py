"""Every layer type that can be exported: onnx accepts the model, and the net that is imported from it returns the same
outputs, as does ONNX Runtime with --runtime. Other types are refused with their name and line."""
import os

import pytest

from tests.onnx.random_weights import draw_weights, far, numpy, onnx

IMAGES = 'shape { dim: 2 dim: 12 dim: 9 dim: 11 }'
ROWS = 'shape { dim: 3 dim: 12 }'
STEPS = 'shape { dim: 5 dim: 2 dim: 6 }'
MASK = 'shape { dim: 1 dim: 2 dim: 2 dim: 2 }'
VOLUMES = 'shape { dim: 2 dim: 3 dim: 6 dim: 7 dim: 8 }'

LAYERS = {  # the text after `type: `, by the shapes of the bottoms
    (IMAGES,): '''
AbsVal
ArgMax argmax_param { axis: 1 }
BN bn_param { eps: 0.001 }
BNLL
BatchNorm
BatchNorm batch_norm_param { use_global_stats: false eps: 0.01 }
BatchNorm batch_norm_param { use_weight_bias: true eps: 0.01 relu: true }
Bias
Bias bias_param { axis: 2 num_axes: 2 }
Clip clip_param { min: -0.4 max: 0.7 }
Convolution convolution_param { num_output: 4 kernel_size: 3 stride: 2 pad: 1 group: 2 }
Convolution convolution_param { num_output: 5 kernel_h: 2 kernel_w: 3 pad_h: 1 dilation: 2 bias_term: false }
Convolution convolution_param { num_output: 4 kernel_size: 1 relu: true }
ConvolutionDepthwise convolution_param { kernel_size: 3 pad: 1 }
DepthwiseConvolution convolution_param { kernel_size: 3 num_output: 24 }
Deconvolution convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 group: 3 }
DenseBlock denseblock_param { numTransition: 2 initChannel: 12 growthRate: 4 }
DenseBlock denseblock_param { numTransition: 3 initChannel: 8 growthRate: 2 use_BC: true filter_W: 5 pad_w: 2 }
Dropout
Dropout dropout_param { scale_train: false dropout_ratio: 0.3 }
ELU elu_param { alpha: 0.7 }
ELU elu_param { alpha: 1.2 lambda: 1.1 }
Exp exp_param { base: 2 scale: 0.5 shift: 0.3 }
Flatten
Flatten flatten_param { axis: 2 }
Flatten flatten_param { axis: 1 end_axis: 2 }
GELU
GELU gelu_param { approximate: true }
GroupNorm group_norm_param { group: 3 }
HardSigmoid
HardSwish
InnerProduct inner_product_param { num_output: 7 }
InnerProduct inner_product_param { num_output: 7 axis: 2 transpose: true }
InnerProduct inner_product_param { num_output: 7 axis: 3 bias_term: false relu: true }
InstanceNorm
InstanceNorm instance_norm_param { affine: true }
Interp interp_param { height: 20 width: 13 }
Interp interp_param { zoom_factor: 2 pad_beg: -1 pad_end: -1 }
LRN lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 k: 2 }
LRN lrn_param { local_size: 3 alpha: 0.5 norm_region: WITHIN_CHANNEL }
LayerNorm layer_norm_param { axis: 1 }
LayerNorm layer_norm_param { affine: false }
Log log_param { base: 10 scale: 0.1 shift: 3 }
LogSoftmax
LogSoftmax softmax_param { axis: 2 }
MVN
MVN mvn_param { across_channels: true normalize_variance: false }
Mish
Normalize norm_param { across_spatial: false channel_shared: false }
Normalize norm_param { }
Normalize
Normalize normalize_param { normalize_type: "L1" }
PReLU
PReLU prelu_param { channel_shared: true }
Padding padding_param { pad_beg: 1 pad_end: 2 }
Permute permute_param { order: 0 order: 2 order: 3 order: 1 }
PixelShuffle pixel_shuffle_param { upscale_factor: 2 }
Pooling pooling_param { kernel_size: 2 stride: 2 }
Pooling pooling_param { kernel_size: 3 stride: 2 pad: 1 }
Pooling pooling_param { kernel_size: 3 stride: 2 round_mode: FLOOR }
Pooling pooling_param { pool: AVE kernel_size: 2 stride: 2 }
Pooling pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }
Pooling pooling_param { pool: AVE kernel_size: 4 stride: 3 pad: 1 avg_include_pad: false }
Pooling pooling_param { pool: AVE global_pooling: true }
Pooling pooling_param { global_pooling: true }
Power power_param { power: 2 scale: 0.5 shift: 0.2 }
Power power_param { scale: 3 }
Power
ReLU
ReLU relu_param { negative_slope: 0.2 }
ReLU6
Reduction reduction_param { axis: 1 }
Reduction reduction_param { operation: MEAN axis: 2 coeff: 3 }
Reduction reduction_param { operation: ASUM axis: 1 }
Reduction reduction_param { operation: SUMSQ axis: 2 }
Reorg reorg_param { stride: 2 reverse: true }
Reshape reshape_param { shape { dim: 0 dim: 3 dim: 4 dim: -1 } }
Reshape reshape_param { shape { dim: 4 dim: 3 } axis: 1 num_axes: 1 }
Reverse reverse_param { axis: 1 }
SPP spp_param { pyramid_height: 3 }
SPP spp_param { pyramid_height: 2 pool: AVE }
Scale
Scale scale_param { axis: 2 num_axes: 1 bias_term: true }
ScaleTanH scale_tanh_param { init_scale: 0.5 gamma: 0.1 step_size: 2 }
ShuffleChannel shuffle_channel_param { group: 3 }
Sigmoid
Slice slice_param { slice_point: 5 } top: "z"
Softmax
Softmax softmax_param { axis: 3 }
SpatialDropout
Split top: "z"
Swish swish_param { beta: 1.5 }
Swish
TanH
Threshold threshold_param { threshold: 0.1 }
Tile tile_param { tiles: 3 }
Transpose transpose_param { dim: 2 dim: 0 dim: 3 dim: 1 }
Upsample upsample_param { scale: 3 }
VoxelSoftmax
''',
    (IMAGES, IMAGES): '''
Concat
Concat concat_param { axis: 2 }
Eltwise
Eltwise eltwise_param { coeff: 1 coeff: -1 }
Eltwise eltwise_param { coeff: 0.5 coeff: 2 }
Eltwise eltwise_param { operation: PROD }
Eltwise eltwise_param { operation: MAX }
Interleave
MatMul matmul_param { transpose_b: true alpha: 0.5 }
PriorBox prior_box_param { min_size: 4 aspect_ratio: 2 variance: 0.1 }
''',
    (IMAGES, 'shape { dim: 2 dim: 12 dim: 5 dim: 6 }'): 'Crop crop_param { axis: 2 offset: 1 offset: 3 }',
    (IMAGES, 'shape { dim: 2 dim: 12 }'): '''
Scale scale_param { axis: 0 }
Bias bias_param { axis: 0 }''',
    ('shape { dim: 2 dim: 12 }', IMAGES, IMAGES): 'Axpy',
    (STEPS, STEPS, STEPS): 'Attention attention_param { heads: 3 scale: 0.5 }',
    (STEPS, MASK): 'Attention attention_param { heads: 2 }',
    (ROWS,): '''
BatchNorm
InnerProduct inner_product_param { num_output: 4 }
Scale scale_param { bias_term: true }
Softmax
ArgMax
''',
    ('shape { dim: 6 dim: 12 }',): 'Lstm lstm_param { num_output: 4 batch_size: 2 }',
    (STEPS,): '''
Lstm lstm_param { num_output: 4 }
InnerProduct inner_product_param { num_output: 4 axis: 2 }
Reverse reverse_param { axis: 0 }
Attention attention_param { heads: 2 causal: true }
Parameter parameter_param { shape { dim: 1 dim: 4 } }
''',
    (VOLUMES,): '''
Convolution convolution_param { num_output: 4 kernel_size: 3 pad: 1 }
Convolution3D convolution3d_param { num_output: 4 kernel_size: 3 kernel_depth: 2 pad: 1 }
Deconvolution3D convolution3d_param { num_output: 4 kernel_size: 3 kernel_depth: 2 stride: 2 }
Pooling pooling_param { kernel_size_3d: 2 kernel_size_3d: 3 kernel_size_3d: 3 stride_3d: 2 }
Pooling3D pooling3d_param { kernel_size: 3 kernel_depth: 2 stride: 2 }
PoolingND pooling_nd_param { kernel_size: 2 stride: 2 pool: AVE }
BatchNorm
''',
}
MEMORY = '''layer { name: "cont" type: "ContinuationIndicator" top: "cont"
  continuation_indicator_param { time_step: 5 batch_size: 2 } }
layer { name: "tested0" type: "LSTM" bottom: "x0" bottom: "cont" top: "y0" recurrent_param { num_output: 3 } }'''
IMAGE = numpy.random.RandomState(4).normal(0, 1, (2, 12, 9, 11)).astype('f4')
REGIONS = numpy.array([[0, 0, 0, 20, 16], [1, 4, 2, 13, 11], [1, 0, 8, 21, 17]], 'f4')
CORNERS = numpy.arange(20).reshape(4, 5) // 5 * 22 + numpy.arange(20).reshape(4, 5) % 5 * 2.0  # of 2 x 2 in 9 x 11
PICKED = numpy.random.RandomState(5).randint(0, 3, (4, 3, 7)) * 1.0
WRITTEN = {  # not imported again: the input is not arbitrary, or the operators are not read
    'Embed embed_param { input_dim: 5 num_output: 3 }': [numpy.array([[0, 4, 2], [1, 1, 3]], 'f4')],
    'ROIPooling roi_pooling_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 }': [IMAGE, REGIONS],
    'ROIAlign roi_align_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 sampling_ratio: 2 }': [IMAGE, REGIONS],
    'ROIAlign roi_align_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 }': [IMAGE, REGIONS],
    'Pooling pooling_param { kernel_size: 2 stride: 2 } top: "z"': [IMAGE],
    'Pooling pooling_param { kernel_size: 3 stride: 2 pad: 1 } top: "z"': [numpy.round(IMAGE)],
    'Pooling pooling_param { global_pooling: true } top: "z"': [IMAGE],
    'Upsample upsample_param { upsample_h: 9 upsample_w: 11 }':
        [IMAGE[:, :, :4, :5], numpy.broadcast_to(CORNERS, (2, 12, 4, 5))],
    'SpatialTransformer st_param { output_H: 6 output_W: 5 }': [IMAGE, numpy.array([[0.9, 0.2, 0.1, -0.3, 1.1, 0.05],
                                                                                    [0.4, 0, -0.3, 0, 0.5, 0.2]])],
    'SpatialTransformer st_param { theta_1_1: 0.5 theta_1_2: 0 theta_2_1: 0.1 theta_2_2: 0.7 }':
        [IMAGE, numpy.array([[0.1, 0.3], [-0.2, 0]])],
    'ArgMax argmax_param { top_k: 3 }': [PICKED],
    'ArgMax argmax_param { top_k: 3 out_max_val: true }': [PICKED],
    'ArgMax argmax_param { top_k: 2 axis: 2 }': [PICKED],
    'ArgMax argmax_param { top_k: 2 axis: 1 out_max_val: true }': [PICKED],
    'ArgMax argmax_param { out_max_val: true }': [IMAGE],
    'BatchReindex': [IMAGE, numpy.array([1, 0, 0, 1, 1])],
    'Filter top: "z"': [IMAGE, PICKED[:2], numpy.array([0, 1])],
    'CTCGreedyDecoder': [numpy.eye(4)[numpy.random.RandomState(6).randint(0, 4, (9, 5))]],
    'CTCGreedyDecoder ctc_decoder_param { blank_index: -1 ctc_merge_repeated: false }':
        [numpy.eye(4)[numpy.random.RandomState(7).randint(0, 4, (9, 5))]],
}
CARRIED = '''layer { name: "cont" type: "ContinuationIndicator" top: "cont"
  continuation_indicator_param { time_step: %d batch_size: 2 } }
'''
FIXED, STATE = 'shape { dim: 2 dim: 3 }', 'shape { dim: 1 dim: 2 dim: 4 }'
STEP, CONT = 'shape { dim: 1 dim: 2 dim: 6 }', 'shape { dim: 1 dim: 2 }'
RECURRENT = [  # the layer, and the shapes of x0, x1, ...; without a shape for "cont" sequences begin with the pass
    ('LSTM', 'bottom: "x0" bottom: "cont" bottom: "x1"', (STEPS, FIXED), ''),
    ('RNN', 'bottom: "x0" bottom: "cont"', (STEPS,), ''),
    ('RNN', 'bottom: "x0" bottom: "cont" bottom: "x1"', (STEPS, FIXED), ''),
    ('LSTM', 'bottom: "x0" bottom: "cont" bottom: "x1" bottom: "x2" top: "z0" top: "w0"', (STEPS, STATE, STATE),
     'expose_hidden: true'),
    ('RNN', 'bottom: "x0" bottom: "cont" bottom: "x1" bottom: "x2" top: "z0"', (STEPS, FIXED, STATE),
     'expose_hidden: true'),
    ('LSTM', 'bottom: "x0" bottom: "x1" bottom: "x2" bottom: "x3" bottom: "x4" top: "z0" top: "w0"',
     (STEP, CONT, FIXED, STATE, STATE), 'expose_hidden: true'),
]
REFUSED = {
    'Pooling pooling_param { pool: STOCHASTIC kernel_size: 2 }': 'stochastic',
    'Im2col convolution_param { kernel_size: 3 }': 'this layer type has no ONNX operator',
}


def inputs_text(shapes):
    return ''.join('layer { name: "x%d" type: "Input" top: "x%d" input_param { %s } }\n' % (i, i, shape)
                   for i, shape in enumerate(shapes))


def layer_text(number, bottoms, layer):
    kind, _, options = layer.partition(' ')
    reads = ' '.join('bottom: "x%d"' % i for i in range(bottoms))
    options = options.replace('"z"', '"z%d"' % number)
    return 'layer { name: "tested%d" type: "%s" %s top: "y%d" %s }\n' % (number, kind, reads, number, options)


def net_text(shapes, layers):
    """A net with all layers in parallel; an error in one of them shows in its tops."""
    return inputs_text(shapes) + ''.join(layer_text(i, len(shapes), layer) for i, layer in enumerate(layers))


def extents(shape):
    return [int(word) for word in shape.replace('{', '').replace('}', '').split() if word.isdigit()]


def wrong_tops(who, layers, outputs, got, ours):
    """The tops that differ, by layer: the number of a top is that of its layer."""
    apart = [(name, far(numpy.asarray(a), b)) for name, a, b in zip(outputs, got, ours)]
    return ['%s: %s %.1e' % (layers[int(name[1:])], who, share) for name, share in apart if not share < 1e-5]


@pytest.fixture
def written(folder, run, summary):
    """written(net) writes net.onnx, and returns the outputs and the weights."""
    def written(text):
        (folder / 'net.prototxt').write_text(text)
        of_net = summary('net.prototxt')
        weights = draw_weights(of_net, 'net.npz')
        run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'net.onnx', '-q')
        onnx.checker.check_model('net.onnx')
        return of_net['outputs'], weights and weights[0]
    return written


@pytest.fixture
def check(infer, run, runtime, written):
    """check(layers, net, shapes) compares the net, the imported net and ONNX Runtime."""
    def check(layers, text, shapes):
        outputs, weights = written(text)
        run('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', '-q')
        draw = numpy.random.RandomState(3)
        x = {'x%d' % i: draw.normal(0, 1, extents(shape)).astype('f4') for i, shape in enumerate(shapes)}
        ours = infer('net.prototxt', weights, x, outputs)
        back = infer('back.prototxt', 'back.caffemodel' if os.path.exists('back.caffemodel') else None, x, outputs)
        wrong = wrong_tops('read back', layers, outputs, back, ours)
        if runtime: wrong += wrong_tops('ONNX Runtime', layers, outputs, runtime('net.onnx', x, outputs), ours)
        assert not wrong
    return check


@pytest.mark.parametrize('shapes', LAYERS)
def test_layers_are_exported_and_imported(check, shapes):
    layers = LAYERS[shapes].strip().split('\n')
    check(layers, net_text(shapes, layers), shapes)


def test_layers_in_place_on_an_input(check):
    """A model's input keeps its name; an output computed in place on it gets the layer's name appended."""
    relu = 'layer { name: "relu" type: "ReLU" bottom: "x0" top: "x0" }\n'
    check(['Sigmoid'], inputs_text((IMAGES,)) + relu + layer_text(0, 1, 'Sigmoid'), (IMAGES,))


def test_embedding_is_imported(infer, run, written):
    """Its indices are cast to integers in the model."""
    shape = 'shape { dim: 2 dim: 3 }'
    outputs, weights = written(net_text((shape,), ['Embed embed_param { input_dim: 5 num_output: 3 }']))
    run('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', '-q')
    x = {'x0': numpy.array([[0, 4, 2], [1, 1, 3]], 'f4')}
    ours, back = infer('net.prototxt', weights, x, outputs), infer('back.prototxt', 'back.caffemodel', x, outputs)
    assert (ours[0] == back[0]).all()


def test_lstm_is_exported_and_imported(check):
    check(['LSTM'], inputs_text((STEPS,)) + MEMORY, (STEPS,))


@pytest.mark.parametrize('layer', WRITTEN)
def test_layer_is_exported(infer, layer, runtime, written):
    shapes = ['shape { %s }' % ' '.join('dim: %d' % dim for dim in array.shape) for array in WRITTEN[layer]]
    outputs, weights = written(net_text(shapes, [layer]))
    x = {'x%d' % i: array.astype('f4') for i, array in enumerate(WRITTEN[layer])}
    ours = infer('net.prototxt', weights, x, outputs)
    assert not runtime or not wrong_tops('ONNX Runtime', [layer], outputs, runtime('net.onnx', x, outputs), ours)


@pytest.mark.parametrize('kind, blobs, shapes, options', RECURRENT)
def test_recurrent_layer_is_exported(blobs, infer, kind, options, runtime, shapes, written):
    begin = CARRIED % extents(shapes[0])[0] if '"cont"' in blobs else ''
    layer = ('layer { name: "tested0" type: "%s" top: "y0" %s recurrent_param { num_output: 4 %s } }'
             % (kind, blobs, options))
    outputs, weights = written(inputs_text(shapes) + begin + layer)
    draw = numpy.random.RandomState(3)
    x = {'x%d' % i: draw.normal(0, 1, extents(shape)).astype('f4') for i, shape in enumerate(shapes)}
    if '"cont"' not in blobs: x['x1'] = numpy.array([[0, 1]], 'f4')
    ours = infer('net.prototxt', weights, x, outputs)
    assert not runtime or not wrong_tops('ONNX Runtime', [kind], outputs, runtime('net.onnx', x, outputs), ours)


@pytest.mark.parametrize('layer', REFUSED)
def test_layer_is_refused(folder, layer, run, summary):
    (folder / 'net.prototxt').write_text(net_text((IMAGES,), [layer]))
    weights = draw_weights(summary('net.prototxt'), 'net.npz')
    said = run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'no.onnx', code=3).stderr
    for part in (REFUSED[layer], "'tested0'", 'net.prototxt:2:'): assert part in said
