"""Layers that detect objects: onnx accepts the models, and with --runtime ONNX Runtime returns the same rows."""
import pathlib

import pytest

from tests.onnx.random_weights import draw_weights, far, numpy, onnx

MODELS = pathlib.Path(__file__).parent.parent.parent / 'models'
IMAGES, PRIORS, CLASSES = 2, 60, 4
DRAW = numpy.random.RandomState(5)


def boxes_of(count, size):
    corner = DRAW.uniform(0, 0.7 * size, (count, 2))
    return numpy.concatenate([corner, corner + DRAW.uniform(0.1 * size, 0.3 * size, (count, 2))], 1).astype('f4')


def ssd(codes=1, anchors=False, least=0.0):
    """Offsets, scores and priors, and RefineDet's two bottoms."""
    scores = DRAW.uniform(least, 1, (IMAGES, PRIORS, CLASSES))
    variances = numpy.tile([0.1, 0.1, 0.2, 0.2], PRIORS)
    scores /= scores.sum(2, keepdims=True)
    bottoms = [DRAW.normal(0, 1, (IMAGES, PRIORS * codes * 4)), scores.reshape(IMAGES, -1),
               numpy.stack([boxes_of(PRIORS, 1).ravel(), variances])[None]]
    if anchors: bottoms += [DRAW.uniform(0, 1, (IMAGES, PRIORS * 2)), DRAW.normal(0, 1, (IMAGES, PRIORS * 4))]
    return [array.astype('f4') for array in bottoms]


def equal_scores():
    offsets, scores, priors = ssd()
    return [offsets, numpy.round(scores * 10) / 10, priors]


def detector(options, nms='nms_threshold: 0.4 top_k: 20'):
    return ('DetectionOutput detection_output_param { num_classes: %d nms_param { %s } code_type: CENTER_SIZE %s }'
            % (CLASSES, nms, options))


def grid(*extents):
    return DRAW.normal(0, 1, extents).astype('f4')


INFO = numpy.array([[90, 110, 1.5], [100, 80, 0.5]], 'f4')
REGIONS = numpy.array([[0, 0, 0, 20, 16], [1, 4.5, 2, 13, 11], [1, -3, 8, 21.5, 17], [0, 40, 40, 50, 50],
                       [0, 3, 3, 3, 3]], 'f4')
TWO = 'top: "z0"'
ANCHORS = ' '.join('biases: %s' % side for side in (1.1, 2.2, 2.5, 1.5, 3.5, 4.0))
LAYERS = [
    (detector('keep_top_k: 12 confidence_threshold: 0.2'), ssd()),
    (detector('keep_top_k: -1'), ssd()),
    (detector('keep_top_k: 30 confidence_threshold: 0.2'), equal_scores()),
    (detector('keep_top_k: 12 confidence_threshold: 0.99'), ssd()),
    (detector('keep_top_k: 12 background_label_id: 2', 'nms_threshold: 0.3'), ssd()),
    (detector('keep_top_k: 12 background_label_id: -1'), ssd()),
    (detector('keep_top_k: 500 variance_encoded_in_target: true clip: true'), ssd()),
    (detector('share_location: false keep_top_k: 14'), ssd(codes=CLASSES)),
    (detector('share_location: false clip: true'), ssd(codes=CLASSES)),
    (detector('keep_top_k: 14').replace('CENTER_SIZE', 'CORNER'), ssd()),
    (detector('keep_top_k: 14').replace('CENTER_SIZE', 'CORNER_SIZE'), ssd()),
    (detector('keep_top_k: 14 objectness_score: 0.4'), ssd(anchors=True)),
    (detector('share_location: false objectness_score: 0.4'), ssd(codes=CLASSES, anchors=True)),
    (detector('keep_top_k: 14', 'nms_threshold: 0.45 eta: 0.9'), ssd()),  # eta acts above 0.5 only
    ('YoloDetectionOutput yolo_detection_output_param { num_classes: 3 num_box: 3 coords: 4 confidence_threshold: 0.2 '
     'nms_threshold: 0.45 %s }' % ANCHORS, [grid(2, 24, 5, 6)]),
    ('YoloDetectionOutput yolo_detection_output_param { num_classes: 3 num_box: 3 coords: 4 confidence_threshold: 0.99 '
     'nms_threshold: 0.45 %s }' % ANCHORS, [grid(2, 24, 5, 6)]),
    ('Yolov3DetectionOutput yolov3_detection_output_param { num_classes: 4 num_box: 3 confidence_threshold: 0.3 '
     'nms_threshold: 0.45 %s mask: 2 mask: 1 mask: 0 mask: 0 mask: 1 mask: 2 anchors_scale: 32 anchors_scale: 16 '
     'mask_group_num: 2 }' % ANCHORS.replace('.', '0.'), [grid(2, 27, 3, 4), grid(2, 27, 6, 8)]),
    ('Proposal ' + TWO + ' proposal_param { feat_stride: 16 min_size: 12 pre_nms_topn: 40 post_nms_topn: 10 '
     'nms_thresh: 0.6 scale: 2 scale: 3 }', [grid(2, 12, 6, 7), 0.3 * grid(2, 24, 6, 7), INFO]),
    ('Proposal proposal_param { feat_stride: 16 pre_nms_topn: 0 post_nms_topn: 0 scale: 1 scale: 2 }',
     [grid(2, 12, 6, 7), 0.3 * grid(2, 24, 6, 7), INFO]),
    ('PSROIPooling psroi_pooling_param { spatial_scale: 0.5 output_dim: 3 group_size: 2 }',
     [grid(2, 12, 9, 11), REGIONS]),
    ('DecodeBBox decode_bbox_param { %s }' % ' '.join('bbox_mean: 0.1 bbox_std: %s' % v for v in (0.1, 0.1, 0.2, 0.2)),
     [grid(5, 8), REGIONS]),
]


def inputs_text(arrays):
    return ''.join('layer { name: "x%d" type: "Input" top: "x%d" input_param { shape { %s } } }\n'
                   % (i, i, ' '.join('dim: %d' % dim for dim in array.shape)) for i, array in enumerate(arrays))


def net_of(layer, arrays):
    kind, _, options = layer.partition(' ')
    reads = ' '.join('bottom: "x%d"' % i for i in range(len(arrays)))
    return inputs_text(arrays) + 'layer { name: "tested" type: "%s" %s top: "y0" %s }' % (kind, reads, options)


@pytest.mark.parametrize('layer, bottoms', LAYERS, ids=lambda value: value.split()[0] if isinstance(value, str) else '')
def test_detector_is_exported(bottoms, folder, infer, layer, run, runtime, summary):
    (folder / 'net.prototxt').write_text(net_of(layer, bottoms))
    run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', '-q')
    onnx.checker.check_model('net.onnx', full_check=True)
    outputs = summary('net.prototxt')['outputs']
    x = {'x%d' % i: array for i, array in enumerate(bottoms)}
    ours = infer('net.prototxt', None, x, outputs)
    if runtime:
        for theirs, y in zip(runtime('net.onnx', x, outputs), ours): assert far(theirs, y) < 1e-5


@pytest.mark.parametrize('batch', (1, 3))
@pytest.mark.parametrize('name', ('crnn_digits', 'ssd_fashion'))
def test_whole_net_is_exported(batch, folder, infer, name, run, runtime, summary):
    net = MODELS / name / 'deploy.prototxt'
    of_net = summary(net)
    draw_weights(of_net, 'net.npz')
    run('convert', 'onnx', net, 'net.npz', '-o', 'net.onnx', '-q')
    onnx.checker.check_model('net.onnx', full_check=True)
    x = DRAW.uniform(-1, 1, [batch] + of_net['blobs']['data'][1:]).astype('f4')
    ours = infer(net, 'net.npz', {'data': x}, of_net['outputs'])
    assert ours[0].size > 10
    if runtime:
        assert far(runtime('net.onnx', {'data': x}, of_net['outputs'])[0], ours[0]) < 1e-4


def test_changing_threshold_is_refused(folder, run):
    (folder / 'net.prototxt').write_text(net_of(detector('', 'nms_threshold: 0.6 eta: 0.9'), ssd()))
    said = run('convert', 'onnx', 'net.prototxt', '-o', 'no.onnx', code=3).stderr
    for part in ("'tested'", 'eta'): assert part in said


@pytest.mark.parametrize('layer, bottoms', LAYERS, ids=lambda value: value.split()[0] if isinstance(value, str) else '')
def test_detector_is_restored(bottoms, folder, infer, layer, run, summary):
    (folder / 'net.prototxt').write_text(net_of(layer, bottoms))
    run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', '-q')
    run('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', '-q')
    outputs = summary('net.prototxt')['outputs']
    x = {'x%d' % i: array for i, array in enumerate(bottoms)}
    kind = layer.split()[0]
    assert kind == 'DecodeBBox' or 'type: "%s"' % kind in (folder / 'back.prototxt').read_text()
    weights = 'back.caffemodel' if (folder / 'back.caffemodel').exists() else None
    for a, b in zip(infer('back.prototxt', weights, x, outputs), infer('net.prototxt', None, x, outputs)):
        assert far(a, b) < (1e-5 if kind == 'DecodeBBox' else 1e-30)


def change_constant(model):
    next(tensor for tensor in model.graph.initializer if tensor.data_type == 1).float_data.append(1)


def change_node(model):
    model.graph.node[-1].doc_string = 'changed'


def change_layer(model):
    model.metadata_props[0].value = model.metadata_props[0].value.replace('"DetectionOutput"', '"Python"')


def break_layer(model):
    model.metadata_props[0].value += ' {'


def read_inside(model):
    model.graph.output.append(onnx.ValueInfoProto(name=model.graph.node[0].output[0]))


@pytest.mark.parametrize('change, part', ((change_constant, 'is not supported'), (change_node, 'is not supported'),
                                          (change_layer, 'is damaged'), (break_layer, 'is not supported'),
                                          (read_inside, 'is not supported')))
def test_layer_is_restored_only_if_unchanged(change, folder, part, run):
    (folder / 'net.prototxt').write_text(net_of(*LAYERS[0]))
    run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', '-q')
    model = onnx.load('net.onnx')
    assert [entry.key for entry in model.metadata_props] == ['cortado.layer.1']
    change(model)
    onnx.save(model, 'changed.onnx')
    assert part in run('convert', 'onnx', 'changed.onnx', '-o', 'back.prototxt', code=3).stderr


def message(kind, more=b''):
    """A serialized layer: field 2 is its type."""
    return b'\x12' + bytes([len(kind)]) + kind.encode() + more


@pytest.mark.parametrize('layer, inputs, outputs, part', (
    (message('DetectionOutput'), 1, 1, 'wrong number of bottoms, 1'),
    (message('PSROIPooling'), 1, 1, 'wrong number of bottoms, 1'),
    (message('Flatten', b'\x1a\x01a'), 2, 1, 'wrong number of bottoms, 2'),
    (message('Proposal'), 3, 3, 'wrong number of tops, 3'),
    (message('Python'), 1, 1, 'is damaged'),
    (b'\xff', 1, 1, 'is damaged')))
def test_forged_layer_is_refused(folder, inputs, layer, outputs, part, run):
    helper = onnx.helper
    x = [helper.make_tensor_value_info('x%d' % i, 1, (1, 4, 6, 6)) for i in range(inputs)]
    y = [helper.make_tensor_value_info('y%d' % i, 1, None) for i in range(outputs)]
    node = helper.make_node('Layer', [value.name for value in x], [value.name for value in y], domain='cortado',
                            layer=layer)
    onnx.save(helper.make_model(helper.make_graph([node], 'forged', x, y),
                                opset_imports=[helper.make_opsetid('', 17)]), 'forged.onnx')
    assert part in run('convert', 'onnx', 'forged.onnx', '-o', 'net.prototxt', code=3).stderr
