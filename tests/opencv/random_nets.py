"""Nets with random weights, to compare with OpenCV."""
import re

import pytest

cv2 = pytest.importorskip('cv2')
import numpy

CONV = '''layer { name: "%s" type: "Convolution" bottom: "%s" top: "%s"
  convolution_param { num_output: %d kernel_size: %d pad: %d stride: %d } }
'''


def conv(name, bottom, outputs, kernel, stride=1):
    """A convolution as prototxt; an odd kernel with stride 1 keeps the image size."""
    return CONV % (name, bottom, name, outputs, kernel, kernel // 2, stride)


def layers(text, kind):
    """The layers of one type, each as its text and its name."""
    for layer in re.findall(r'layer \{.*?\n?\}(?=\n+layer|\n*$)', text, re.S):
        if 'type: "%s"' % kind in layer:
            yield layer, re.search(r'name: "([^"]*)"', layer)[1]


def random_weights(text, channels):
    """Arrays of NAME/INDEX for the layers with weights. `channels` has the channels of blobs that no convolution
    produces."""
    random, arrays, made = numpy.random.default_rng(3), {}, dict(channels)
    for layer, name in layers(text, 'Convolution'):
        outputs, kernel = (int(re.search(field + r': (\d+)', layer)[1]) for field in ('num_output', 'kernel_size'))
        inputs = made[re.search(r'bottom: "([^"]*)"', layer)[1]]
        made[name] = outputs
        deviation = (2 / (inputs * kernel * kernel)) ** 0.5 * (3 if 'conf' in name else 1)
        arrays[name + '/0'] = random.normal(0, deviation, (outputs, inputs, kernel, kernel))
        if 'bias_term: false' not in layer:
            arrays[name + '/1'] = random.normal(0, 0.2, outputs)
        if '"%s/bn"' % name in text:
            arrays[name + '/bn/0'] = random.normal(0, 0.3, outputs)
            arrays[name + '/bn/1'] = random.uniform(0.5, 2, outputs)
            arrays[name + '/bn/2'] = numpy.ones(1)
            arrays[name + '/scale/0'] = random.uniform(0.5, 1.5, outputs)
            arrays[name + '/scale/1'] = random.normal(0, 0.3, outputs)
    for layer, name in layers(text, 'Normalize'):
        if 'channel_shared: false' in layer:  # OpenCV cannot read a blob without axes, so a shared scale stays 1
            arrays[name + '/0'] = random.uniform(0.5, 20, made[re.search(r'bottom: "([^"]*)"', layer)[1]])
    return {name: values.astype(numpy.float32) for name, values in arrays.items()}


def difference(ours, theirs):
    """The largest difference of rows, relative to the largest value if that is above 1."""
    ours, theirs = ours.reshape(-1, ours.shape[-1]), theirs.reshape(-1, theirs.shape[-1])
    assert ours.shape == theirs.shape
    return abs(ours - theirs).max() / max(1, abs(theirs).max())
