"""A folded and fused net has the same outputs on the simulated device and on the CPU, with infer and classify, in every
precision. `plan` lists its remaining layers, and `time` runs it."""
import array, math, random, re

import pytest

from tests.cli import fixtures

NET = '''name: "folded"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 9 dim: 9 } } }
layer { name: "c0" type: "Convolution" bottom: "data" top: "c0"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 bias_term: false } }
layer { name: "b0" type: "BatchNorm" bottom: "c0" top: "c0" }
layer { name: "s0" type: "Scale" bottom: "c0" top: "c0" scale_param { bias_term: true } }
layer { name: "r0" type: "ReLU" bottom: "c0" top: "c0" }
layer { name: "dw" type: "DepthwiseConvolution" bottom: "c0" top: "dw" convolution_param { kernel_size: 3 pad: 1 } }
layer { name: "r1" type: "ReLU6" bottom: "dw" top: "dw" }
layer { name: "c1" type: "Convolution" bottom: "dw" top: "c1" convolution_param { num_output: 16 kernel_size: 1 } }
layer { name: "b1" type: "BatchNorm" bottom: "c1" top: "c1" }
layer { name: "sum" type: "Eltwise" bottom: "c0" bottom: "c1" top: "sum" }
layer { name: "r2" type: "ReLU" bottom: "sum" top: "sum" }
layer { name: "up" type: "Deconvolution" bottom: "sum" top: "up"
  convolution_param { num_output: 4 kernel_size: 2 stride: 2 } }
layer { name: "fc" type: "InnerProduct" bottom: "up" top: "fc" inner_product_param { num_output: 5 } }
layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }
'''
STATISTICS = [('mean', [16]), ('variance', [16]), ('factor', [1])]
WEIGHTS = [('c0', 'Convolution', [('w', [16, 3, 3, 3])]), ('b0', 'BatchNorm', STATISTICS),
           ('s0', 'Scale', [('scale', [16]), ('term', [16])]),
           ('dw', 'DepthwiseConvolution', [('w', [16, 1, 3, 3]), ('term', [16])]),
           ('c1', 'Convolution', [('w', [16, 16, 1, 1]), ('term', [16])]), ('b1', 'BatchNorm', STATISTICS),
           ('up', 'Deconvolution', [('w', [16, 4, 2, 2]), ('term', [4])]),
           ('fc', 'InnerProduct', [('w', [5, 1296]), ('term', [5])])]
ALLOWED = {'fp32': 1e-5, 'tf32': 1e-2, 'fp16': 1e-2, 'bf16': 5e-2}


def drawn(draw, kind, shape):
    count, fan_in = math.prod(shape), math.prod(shape[1:])
    if kind == 'factor': return [2.0]
    if kind == 'variance': return [draw.uniform(1, 3) for _ in range(count)]
    return [draw.gauss(0, math.sqrt(2 / fan_in) if kind == 'w' else 0.3) + (kind == 'scale') for _ in range(count)]


def values(path):
    data = array.array('f')
    with open(path, 'rb') as f: content = f.read()
    data.frombytes(content[10 + content[8] + 256 * content[9]:])
    return data


def distance(got, expected):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(got, expected)) / sum(b * b for b in expected))

MODEL = ['--model=net.prototxt', '--weights=net.caffemodel']


@pytest.fixture(scope='module')
def best(run):
    """best('--cpu') is the image's most probable label."""
    return lambda *flags: run('classify', *MODEL, '--labels=labels.txt', '--top=1', *flags,
                              'image.ppm').stdout.split()[-1]


@pytest.fixture(scope='module')
def on_cpu(run, best, shared_folder):
    """The net's output for x.npy and the image's label."""
    draw = random.Random(1)
    fixtures.write('net.prototxt', NET.encode())
    fixtures.caffemodel('net.caffemodel', *(
        fixtures.layer_weights(name, kind, *(fixtures.blob(shape, drawn(draw, what, shape)) for what, shape in blobs))
        for name, kind, blobs in WEIGHTS))
    fixtures.npy('x.npy', [2, 3, 9, 9], [draw.gauss(0, 1) for _ in range(486)])
    fixtures.ppm('image.ppm', 9, 9)
    fixtures.write('labels.txt', b'a\nb\nc\nd\ne\n')
    run('infer', *MODEL, '--input=data=x.npy', '--output=fc=cpu.npy', '--cpu')
    label = best('--cpu')
    assert label in 'abcde'
    return values('cpu.npy'), label


def test_emulated_bf16_is_near_the_cpu(run, best, on_cpu):
    expected, label = on_cpu
    flags = ['--cpu', '--precision=bf16', '--emulate']
    run('infer', *MODEL, '--input=data=x.npy', '--output=fc=half.npy', '--force', *flags)
    assert 0 < distance(values('half.npy'), expected) <= ALLOWED['bf16']
    assert best(*flags) == label


@pytest.mark.parametrize('precision', ALLOWED)
def test_device_is_near_the_cpu(run, best, on_cpu, precision):
    expected, label = on_cpu
    flags = ['--gpu=simulated', '--precision=' + precision]
    run('infer', *MODEL, '--input=data=x.npy', '--output=fc=device.npy', '--force', *flags)
    assert distance(values('device.npy'), expected) <= ALLOWED[precision]
    assert best(*flags) == label
    plan = run('plan', 'net.prototxt', '--phase=TEST', '--frozen', *flags).stdout
    left = [kind for kind in re.findall(r'^forward +(\S+)', plan, re.M) if kind not in ('Input', 'Reorder')]
    assert left == ['Convolution+BatchNorm+Scale+ReLU', 'DepthwiseConvolution+ReLU6',
                    'Convolution+BatchNorm+Eltwise+ReLU', 'Deconvolution', 'InnerProduct', 'Softmax']
    run('time', '--model=net.prototxt', '--phase=TEST', '--iterations=1', *flags)
