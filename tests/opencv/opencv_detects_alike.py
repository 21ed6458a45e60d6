#!/usr/bin/python3
"""OpenCV's Caffe importer finds what `cortado infer` finds: the rows of a net that detects, with random weights.

    opencv_detects_alike.py PROGRAM NET      NET: ssd (models/ssd_fashion), or rfcn or fast_rcnn (small ones, below)
"""
import pathlib
import sys
import tempfile

try:
    import cv2
    import numpy
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

from random_nets import conv, difference, infer, random_weights

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 1e-4  # of corners in parts of the image, and of scores

# OpenCV keeps regions however small they are, hence the min_size.
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

# Normalize before regions are pooled, in the ways that OpenCV has: none for whole images with a scale per channel.
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
    """30 x 5: image 0, then left, top, right and bottom of regions of up to half the image."""
    first = random.uniform(0, (64, 48), (30, 2))
    return numpy.hstack([numpy.zeros((30, 1)), first, first + random.uniform(0, (64, 48), (30, 2))])


def nets(random):
    """Per name: the net, its inputs, its outputs."""
    photo = random.normal(0, 1, (1, 3, 96, 128))
    return {'ssd': ((ROOT / 'models/ssd_fashion/deploy.prototxt').read_text(),
                    {'data': random.normal(0, 1, (1, 1, 160, 160))}, ['detection_out']),
            'rfcn': (RFCN, {'data': photo, 'im_info': numpy.array([[96, 128, 1]])}, ['rois', 'votes']),
            'fast_rcnn': (FAST_RCNN, {'data': photo, 'rois': regions(random)},
                          ['places', 'shared', 'whole', 'pooled'])}


def compare(ours, theirs, what):
    if what == 'detection_out':  # OpenCV's go by score, Caffe's by label
        ours, theirs = (rows.reshape(-1, 7) for rows in (ours, theirs))
        ours, theirs = (rows[numpy.lexsort((-rows[:, 2], rows[:, 1]))] for rows in (ours, theirs))
    return difference(ours, theirs, what)


def main():
    program, name = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    text, inputs, outputs = nets(numpy.random.default_rng(1))[name]
    inputs = {blob: values.astype(numpy.float32) for blob, values in inputs.items()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        weights = random_weights(text, {'data': inputs['data'].shape[1]})
        ours = infer(program, folder, text, weights, inputs, outputs)
        net = cv2.dnn.readNetFromCaffe(str(folder / 'deploy.prototxt'), str(folder / 'random.caffemodel'))
        for blob, values in inputs.items():
            net.setInput(values, blob)
        errors = [compare(values, net.forward(blob), blob) for values, blob in zip(ours, outputs)]
    sys.exit(not max(errors) <= TOLERANCE)


if __name__ == '__main__':
    main()
