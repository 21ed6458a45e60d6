#!/usr/bin/env python3
"""Whole detectors in prototxt, with random weights: exports each as an ONNX model and compares the boxes that ONNX
Runtime and OpenCV 5 find with the net's.

    onnx_detectors.py CORTADO NET[@1,C,H,W] ...

A layer that a Python module of py-faster-rcnn computes, ProposalLayer, becomes a Proposal. Needs numpy, onnx,
onnxruntime and opencv-python-headless 5.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import cv2
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.onnx.random_weights import draw_weights, numpy

NEAR = 1e-4
DETECTORS = 'DetectionOutput', 'Proposal', 'YoloDetectionOutput', 'Yolov3DetectionOutput'
PYTHON = re.compile(r'''type:\s*['"]Python['"]((?:[^{}]|\{[^{}]*\})*?)python_param\s*\{[^{}]*ProposalLayer[^{}]*\}''')
PROPOSAL = (r"type: 'Proposal'\1 proposal_param { feat_stride: 16 ratio: 0.5 ratio: 1 ratio: 2 scale: 8 scale: 16 "
            'scale: 32 pre_nms_topn: 6000 post_nms_topn: 300 nms_thresh: 0.7 min_size: 16 }')


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode: raise RuntimeError(done.stderr.strip()[-400:])
    return done.stdout


def inputs_of(summary, draw):
    inputs = {}
    for layer in summary['layers']:
        if layer['bottoms'] or layer['type'] != 'Input': continue
        for top in layer['tops']:
            shape = summary['blobs'][top]
            inputs[top] = (numpy.array([[224, 224, 1]], 'f4') if top == 'im_info' else
                           draw.uniform(-1, 1, shape).astype('f4'))
    return inputs


def calm(summary, path, infer):
    """Scales the weights of the layers that detectors read, so that no value is above 2: exponentials of others would
    overflow, or make every box as large as the image."""
    arrays, makers, heads = dict(numpy.load(path)), {}, {}
    for layer in summary['layers']:
        if layer['type'] in DETECTORS:
            heads.update((head['name'], head) for head in (makers[bottom] for bottom in layer['bottoms']) if head)
        has_weights = layer['name'] in summary['params']
        before = makers.get(layer['bottoms'][0]) if layer['bottoms'] else None
        makers.update(dict.fromkeys(layer['tops'], layer if has_weights else before))
    if not heads: return
    for (name, head), values in zip(heads.items(), infer([head['tops'][0] for head in heads.values()])):
        for key in arrays:
            if key.startswith(name + '/'): arrays[key] *= 2 / max(2, abs(values).max())
    numpy.savez(path, **arrays)


def read_by_opencv(model, inputs, outputs):
    net = cv2.dnn.readNetFromONNX(str(model))
    for name, values in inputs.items(): net.setInput(values, name)
    return [numpy.array(y) for y in net.forward(outputs)]


def far(a, b):
    """The largest difference; of rows of boxes how many are equal, because those with nearly equal scores may change
    places."""
    if a.size != b.size: return 'shape %s, not %s' % (a.shape, b.shape)
    a, scale = a.reshape(b.shape), max(1e-30, abs(b).max())
    share = abs(a - b).max() / scale
    if share < NEAR or b.shape[-1] != 7: return '%.1e' % share
    a, b = a.reshape(-1, 7), b.reshape(-1, 7)
    same = sum((abs(a - row).max(1) < NEAR * scale).any() for row in b)
    return '%d of %d rows' % (same, len(b))


def compare(cortado, net, shape, folder):
    (folder / 'source.prototxt').write_text(PYTHON.sub(PROPOSAL, pathlib.Path(net).read_text()))
    more = ['--shape=' + shape] if shape else []
    run(cortado, 'deploy', folder / 'source.prototxt', '-o', folder / 'net.prototxt', *more)
    summary = json.loads(run(cortado, 'summary', folder / 'net.prototxt', '--phase=TEST', '--json'))
    weights = draw_weights(summary, str(folder / 'net.npz'))
    x, outputs = inputs_of(summary, numpy.random.RandomState(1)), summary['outputs']
    words = [cortado, 'infer', folder / 'net.prototxt', *weights]
    for i, (name, values) in enumerate(x.items()):
        numpy.save(folder / ('x%d.npy' % i), values)
        words.append('--input=%s=%s' % (name, folder / ('x%d.npy' % i)))

    def infer(blobs):
        run(*words, '--force', *('--output=%s=%s' % (name, folder / ('y%d.npy' % i)) for i, name in enumerate(blobs)))
        return [numpy.load(folder / ('y%d.npy' % i)) for i in range(len(blobs))]

    calm(summary, weights[0], infer)
    ours = infer(outputs)
    found = {}
    for reader in 'onnxruntime', 'opencv5':
        model = folder / (reader + '.onnx')
        run(cortado, 'convert', 'onnx', folder / 'net.prototxt', *weights, '-o', model, '--for=' + reader)
        try:
            theirs = (onnxruntime.InferenceSession(str(model)).run(outputs, x) if reader == 'onnxruntime' else
                      read_by_opencv(model, x, outputs))
            found[reader] = [far(a, b) for a, b in zip(theirs, ours)]
        except (RuntimeError, cv2.error) as error:
            found[reader] = [str(error).strip().split('\n')[0][-200:]]
    made = ['%s %s' % (name, 'x'.join(map(str, y.shape))) for name, y in zip(outputs, ours)]
    return 'outputs ' + ' '.join(made), found


for net in sys.argv[2:]:
    path, _, shape = net.partition('@')
    with tempfile.TemporaryDirectory() as folder:
        text, found = compare(sys.argv[1], path, shape, pathlib.Path(folder))
    print(path, text, *('%s %s' % (reader, ' '.join(shares)) for reader, shares in found.items()), sep='\n  ',
          flush=True)
