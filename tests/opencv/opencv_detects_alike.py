#!/usr/bin/python3
"""OpenCV's Caffe importer finds what `cortado infer` finds: the rows of a net that detects, with random weights.

    opencv_detects_alike.py PROGRAM NET      NET: ssd (models/ssd_fashion) or rfcn (a small one, below)
"""
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 1e-4  # of corners in parts of the image, and of scores

CONV = '''layer { name: "%s" type: "Convolution" bottom: "%s" top: "%s"
  convolution_param { num_output: %d kernel_size: %d pad: %d stride: %d } }
'''
# OpenCV keeps regions however small they are, hence the min_size.
RFCN = '''name: "rfcn"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 96 dim: 128 } } }
layer { name: "im_info" type: "Input" top: "im_info" input_param { shape { dim: 1 dim: 3 } } }
''' + CONV % ('conv1', 'data', 'conv1', 8, 3, 1, 4) + CONV % ('conv2', 'conv1', 'conv2', 16, 3, 1, 4) + \
    CONV % ('scores', 'conv2', 'scores', 18, 1, 0, 1) + CONV % ('offsets', 'conv2', 'offsets', 36, 1, 0, 1) + '''
layer { name: "scores2" type: "Reshape" bottom: "scores" top: "scores2"
  reshape_param { shape { dim: 0 dim: 2 dim: -1 dim: 0 } } }
layer { name: "prob2" type: "Softmax" bottom: "scores2" top: "prob2" }
layer { name: "prob" type: "Reshape" bottom: "prob2" top: "prob"
  reshape_param { shape { dim: 0 dim: 18 dim: -1 dim: 0 } } }
layer { name: "rois" type: "Proposal" bottom: "prob" bottom: "offsets" bottom: "im_info" top: "rois"
  proposal_param { feat_stride: 16 base_size: 16 min_size: 1 ratio: 0.5 ratio: 1 ratio: 2 scale: 1 scale: 2 scale: 4
    pre_nms_topn: 100 post_nms_topn: 20 nms_thresh: 0.7 } }
''' + CONV % ('maps', 'conv2', 'maps', 4 * 9, 1, 0, 1) + '''
layer { name: "pooled" type: "PSROIPooling" bottom: "maps" bottom: "rois" top: "pooled"
  psroi_pooling_param { spatial_scale: 0.0625 output_dim: 4 group_size: 3 } }
layer { name: "votes" type: "Pooling" bottom: "pooled" top: "votes"
  pooling_param { pool: AVE kernel_size: 3 stride: 3 } }
'''


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit('%s: exit code %d\n%s' % (' '.join(command), done.returncode, done.stdout))
    return done.stdout


def convolutions(text):
    """(name, outputs, kernel, whether it has terms) of each convolution, in order."""
    for layer in re.findall(r'layer \{.*?\n?\}(?=\nlayer|\n*$)', text, re.S):
        if 'type: "Convolution"' not in layer:
            continue
        number = lambda field: int(re.search(field + r': (\d+)', layer)[1])
        name, bottom = (re.search(field + r': "([^"]*)"', layer)[1] for field in ('name', 'bottom'))
        yield name, bottom, number('num_output'), number('kernel_size'), 'bias_term: false' not in layer


def random_weights(text, channels):
    """Arrays of NAME/INDEX for every layer with weights."""
    random, arrays, made = numpy.random.default_rng(3), {}, {'data': channels}
    for name, bottom, outputs, kernel, terms in convolutions(text):
        inputs = made[bottom]
        made[name] = outputs
        deviation = (2 / (inputs * kernel * kernel)) ** 0.5 * (3 if 'conf' in name else 1)
        arrays[name + '/0'] = random.normal(0, deviation, (outputs, inputs, kernel, kernel))
        if terms:
            arrays[name + '/1'] = random.normal(0, 0.2, outputs)
        if '"%s/bn"' % name in text:
            arrays[name + '/bn/0'] = random.normal(0, 0.3, outputs)
            arrays[name + '/bn/1'] = random.uniform(0.5, 2, outputs)
            arrays[name + '/bn/2'] = numpy.ones(1)
            arrays[name + '/scale/0'] = random.uniform(0.5, 1.5, outputs)
            arrays[name + '/scale/1'] = random.normal(0, 0.3, outputs)
    return {name: values.astype(numpy.float32) for name, values in arrays.items()}


def compare(ours, theirs, what):
    ours, theirs = ours.reshape(-1, ours.shape[-1]), theirs.reshape(-1, theirs.shape[-1])
    if what == 'detection_out':  # OpenCV's go by score, Caffe's by label
        ours, theirs = (rows[numpy.lexsort((-rows[:, 2], rows[:, 1]))] for rows in (ours, theirs))
    if ours.shape != theirs.shape:
        sys.exit('%s: %s rows, OpenCV has %s' % (what, ours.shape, theirs.shape))
    error = abs(ours - theirs).max() / max(1, abs(theirs).max())
    print('%s: %d rows of %d, largest difference %.2g' % (what, *ours.shape, error))
    return error


def main():
    program, name = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    text = RFCN if name == 'rfcn' else (ROOT / 'models/ssd_fashion/deploy.prototxt').read_text()
    random = numpy.random.default_rng(1)
    shape = (1, 3, 96, 128) if name == 'rfcn' else (1, 1, 160, 160)
    inputs = {'data': random.normal(0, 1, shape)}
    outputs = ['detection_out']
    if name == 'rfcn':
        inputs['im_info'] = numpy.array([[96, 128, 1]])
        outputs = ['rois', 'votes']
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / 'deploy.prototxt').write_text(text)
        numpy.savez(folder / 'random.npz', **random_weights(text, shape[1]))
        run(folder, program, 'convert', 'weights', 'random.npz', 'random.caffemodel', '--net=deploy.prototxt')
        command = [program, 'infer', '--cpu', '--model=deploy.prototxt', '--weights=random.caffemodel']
        for blob, values in inputs.items():
            inputs[blob] = values.astype(numpy.float32)
            numpy.save(folder / (blob + '.npy'), inputs[blob])
            command += ['--input', '%s=%s.npy' % (blob, blob)]
        for blob in outputs:
            command += ['--output', '%s=%s.npy' % (blob, blob)]
        run(folder, *command)
        net = cv2.dnn.readNetFromCaffe(str(folder / 'deploy.prototxt'), str(folder / 'random.caffemodel'))
        for blob, values in inputs.items():
            net.setInput(values, blob)
        errors = [compare(numpy.load(folder / (blob + '.npy')), net.forward(blob), blob) for blob in outputs]
    sys.exit(not max(errors) <= TOLERANCE)


if __name__ == '__main__':
    main()
