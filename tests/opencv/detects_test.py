"""OpenCV's Caffe importer and `cortado infer` return the same rows for detection nets with random weights."""
import pathlib

import pytest

from tests.opencv.random_nets import conv, cv2, difference, numpy, random_weights

TOLERANCE = 1e-4  # of corners relative to the image size, and of scores

# OpenCV keeps regions of any size, hence the min_size.
RFCN = '''name: "rfcn"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 96 dim: 128 } } }
layer { name: "im_info" type: "Input" top: "im_info" input_param { shape { dim: 1 dim: 3 } } }
''' + conv('conv1', 'data', 8, 3, 4) + conv('conv2', 'conv1', 16, 3, 4) + \
    conv('scores', 'conv2', 18, 1) + conv('offsets', 'conv2', 36, 1) + '''
layer { name: "scores2" type: "Reshape" bottom: "scores" top: "scores2"
  reshape_param { shape { dim: 0 dim: 2 dim: -1 dim: 0 } } }
layer { name: "prob2" type: "Softmax" bottom: "scores2" top: "prob2" }
layer { name: "prob" type: "Reshape" bottom: "prob2" top: "prob"
  reshape_param { shape { dim: 0 dim: 18 dim: -1 dim: 0 } } }
layer { name: "rois" type: "Proposal" bottom: "prob" bottom: "offsets" bottom: "im_info" top: "rois"
  proposal_param { feat_stride: 16 base_size: 16 min_size: 1 ratio: 0.5 ratio: 1 ratio: 2 scale: 1 scale: 2 scale: 4
    pre_nms_topn: 100 post_nms_topn: 20 nms_thresh: 0.7 } }
''' + conv('maps', 'conv2', 4 * 9, 1) + '''
layer { name: "pooled" type: "PSROIPooling" bottom: "maps" bottom: "rois" top: "pooled"
  psroi_pooling_param { spatial_scale: 0.0625 output_dim: 4 group_size: 3 } }
layer { name: "votes" type: "Pooling" bottom: "pooled" top: "votes"
  pooling_param { pool: AVE kernel_size: 3 stride: 3 } }
'''

# Normalize before ROI pooling, in the forms that OpenCV supports: not across_spatial with a scale per channel.
FAST_RCNN = '''name: "fast_rcnn"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 96 dim: 128 } } }
layer { name: "rois" type: "Input" top: "rois" input_param { shape { dim: 30 dim: 5 } } }
''' + conv('conv1', 'data', 8, 3, 4) + conv('conv2', 'conv1', 16, 3, 2) + ''.join(
    'layer { name: "%s" type: "Normalize" bottom: "%s" top: "%s"\n'
    '  norm_param { across_spatial: %s channel_shared: %s } }\n' % settings for settings in (
        ('places', 'conv2', 'places', 'false', 'false'), ('shared', 'conv2', 'shared', 'false', 'true'),
        ('whole', 'conv2', 'whole', 'true', 'true'))) + '''
layer { name: "pooled" type: "ROIPooling" bottom: "places" bottom: "rois" top: "pooled"
  roi_pooling_param { spatial_scale: 0.125 pooled_h: 3 pooled_w: 4 } }
'''


def regions(random):
    """30 x 5: image 0, then left, top, right and bottom of regions up to half the image size."""
    first = random.uniform(0, (64, 48), (30, 2))
    return numpy.hstack([numpy.zeros((30, 1)), first, first + random.uniform(0, (64, 48), (30, 2))])


def nets(source):
    """The net, its inputs and its outputs, by name."""
    random = numpy.random.default_rng(1)
    photo = random.normal(0, 1, (1, 3, 96, 128))
    return {'ssd': (pathlib.Path(source, 'models/ssd_fashion/deploy.prototxt').read_text(),
                    {'data': random.normal(0, 1, (1, 1, 160, 160))}, ['detection_out']),
            'rfcn': (RFCN, {'data': photo, 'im_info': numpy.array([[96, 128, 1]])}, ['rois', 'votes']),
            'fast_rcnn': (FAST_RCNN, {'data': photo, 'rois': regions(random)},
                          ['places', 'shared', 'whole', 'pooled'])}


def by_label(rows):
    """Sorts rows by label: OpenCV's are sorted by score, Caffe's by label."""
    rows = rows.reshape(-1, 7)
    return rows[numpy.lexsort((-rows[:, 2], rows[:, 1]))]


@pytest.mark.parametrize('name', ['ssd', 'rfcn', 'fast_rcnn'])
def test_opencv_returns_the_same_rows(infer, source, name):
    text, inputs, outputs = nets(source)[name]
    inputs = {blob: values.astype(numpy.float32) for blob, values in inputs.items()}
    weights = random_weights(text, {'data': inputs['data'].shape[1]})
    ones = {layer + '/0': numpy.ones((), 'f4') for layer in ('shared', 'whole')} if name == 'fast_rcnn' else {}
    ours = infer(text, weights, inputs, outputs, further=ones)
    net = cv2.dnn.readNetFromCaffe('deploy.prototxt', 'random.caffemodel')
    for blob, values in inputs.items(): net.setInput(values, blob)
    for blob, values in zip(outputs, ours):
        theirs = net.forward(blob)
        if blob == 'detection_out': values, theirs = by_label(values), by_label(theirs)
        assert difference(values, theirs) <= TOLERANCE, blob
