#!/usr/bin/env python3
"""Public architectures, exported to ONNX by PyTorch with random weights, and ONNX models, as nets of BVLC Caffe 1.0.
Checks that other readers of Caffe's language return the same outputs: OpenCV's readNetFromCaffe, MNN's converter, and
the toolkit of Rockchip's chips.

    caffe_peers.py CORTADO [--opencv=PYTHON] [--mnn=FOLDER] [--rknn=PYTHON] [NAME|MODEL.onnx@1,C,H,W ...]

--opencv is a Python with OpenCV 4 (OpenCV 5 does not read Caffe's nets), --mnn a folder with the Python package MNN,
--rknn a Python with rknn-toolkit2, whose simulator computes with 16-bit floats.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import torch
import torchvision
from torch import nn

NAMES = ('resnet18 squeezenet1_1 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large efficientnet_b0 shufflenet_v2_x1_0 '
         'densenet121 regnet_x_400mf mnasnet0_5 unet yolov5 yolov8').split()
NEAR, NEAR_HALVES = 1e-4, 3e-2
OPENCV = '''
import sys, cv2, numpy
net = cv2.dnn.readNetFromCaffe('net.prototxt', 'net.caffemodel')
net.setInput(numpy.load('x.npy'))
numpy.save('y.npy', net.forward())
'''
# The converter itself: its wrapper, MNN.tools.mnnconvert, installs packages and sends statistics.
CONVERT = '''
import MNN, _tools
_tools.mnnconvert('mnnconvert -f CAFFE --modelFile net.caffemodel --prototxt net.prototxt --MNNModel net.mnn '
                  '--bizCode x'.split())
'''
MNN = '''
import sys, numpy, MNN
net = MNN.Interpreter('net.mnn')
session = net.createSession({'numThread': 2, 'precision': 'high'})
x, given = numpy.load('x.npy'), net.getSessionInput(session)
net.resizeTensor(given, x.shape)
net.resizeSession(session)
given.copyFrom(MNN.Tensor(x.shape, MNN.Halide_Type_Float, x, MNN.Tensor_DimensionType_Caffe))
net.runSession(session)
made = net.getSessionOutput(session, sys.argv[1])
y = MNN.Tensor(made.getShape(), MNN.Halide_Type_Float, numpy.zeros(made.getShape(), 'f4'),
               MNN.Tensor_DimensionType_Caffe)
made.copyToHostTensor(y)
numpy.save('y.npy', numpy.array(y.getData(), 'f4').reshape(made.getShape()))
'''


RKNN = """
import numpy
from rknn.api import RKNN
rknn, x = RKNN(), numpy.load('x.npy')
rknn.config(target_platform='rk3588')
assert rknn.load_caffe(model='net.prototxt', blobs='net.caffemodel') == 0
assert rknn.build(do_quantization=False) == 0
assert rknn.init_runtime() == 0
numpy.save('y.npy', rknn.inference([x], data_format='nchw')[0])
"""


def block(inputs, outputs, kernel=3, stride=1, activation=nn.ReLU):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, bias=False),
                         nn.BatchNorm2d(outputs), activation())


class Unet(nn.Module):
    """Two poolings, one transposed convolution, one bilinear resizing."""
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = block(3, 16), block(16, 32), block(32, 48)
        self.up = nn.ConvTranspose2d(48, 32, 2, 2)
        self.d, self.e, self.last = block(64, 32), block(48, 16), nn.Conv2d(16, 5, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(nn.functional.max_pool2d(a, 2))
        d = self.d(torch.cat([self.up(self.c(nn.functional.max_pool2d(b, 2))), b], 1))
        wide = nn.functional.interpolate(d, scale_factor=2, mode='bilinear', align_corners=False)
        return self.last(self.e(torch.cat([wide, a], 1)))


class Bottleneck(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.cv = nn.Sequential(block(channels, channels, 1, 1, nn.SiLU), block(channels, channels, 3, 1, nn.SiLU))

    def forward(self, x): return x + self.cv(x)


class C3(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        half = outputs // 2
        self.a, self.b = block(channels, half, 1, 1, nn.SiLU), block(channels, half, 1, 1, nn.SiLU)
        self.m, self.c = Bottleneck(half), block(outputs, outputs, 1, 1, nn.SiLU)

    def forward(self, x): return self.c(torch.cat([self.m(self.a(x)), self.b(x)], 1))


class Yolov5(nn.Module):
    """The parts of YOLOv5: a stem, C3, SPPF, a nearest resizing, and a head whose boxes are transposed."""
    def __init__(self, anchors=3, values=9):
        super().__init__()
        self.stem = nn.Sequential(block(3, 16, 6, 2, nn.SiLU), block(16, 32, 3, 2, nn.SiLU), C3(32, 32))
        self.down, self.c3 = block(32, 64, 3, 2, nn.SiLU), C3(64, 64)
        self.before, self.after = block(64, 32, 1, 1, nn.SiLU), block(128, 64, 1, 1, nn.SiLU)
        self.small, self.join = block(64, 32, 1, 1, nn.SiLU), C3(64, 32)
        self.head, self.anchors, self.values = nn.Conv2d(32, anchors * values, 1), anchors, values

    def forward(self, x):
        fine = self.stem(x)
        parts = [self.before(self.c3(self.down(fine)))]
        for _ in range(3): parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        coarse = self.small(self.after(torch.cat(parts, 1)))
        y = self.head(self.join(torch.cat([nn.functional.interpolate(coarse, scale_factor=2), fine], 1)))
        n, _, h, w = y.shape
        return y.view(n, self.anchors, self.values, h, w).permute(0, 1, 3, 4, 2).contiguous().sigmoid()


class Yolov8(nn.Module):
    """The parts of YOLOv8: C2f, SPPF, and a head without anchors, whose distances are means of distributions."""
    def __init__(self, classes=4, bins=8):
        super().__init__()
        self.stem = nn.Sequential(block(3, 16, 3, 2, nn.SiLU), block(16, 32, 3, 2, nn.SiLU))
        self.wide, self.inner, self.join = block(32, 32, 1, 1, nn.SiLU), Bottleneck(16), block(48, 32, 1, 1, nn.SiLU)
        self.down, self.before = block(32, 64, 3, 2, nn.SiLU), block(64, 32, 1, 1, nn.SiLU)
        self.after = block(128, 64, 1)
        self.boxes = nn.Sequential(block(64, 32, 3, 1, nn.SiLU), nn.Conv2d(32, 4 * bins, 1))
        self.scores = nn.Sequential(block(64, 32, 3, 1, nn.SiLU), nn.Conv2d(32, classes, 1))
        self.mean, self.bins = nn.Conv2d(bins, 1, 1, bias=False), bins
        self.mean.weight.data = torch.arange(bins, dtype=torch.float).reshape(1, bins, 1, 1)

    def forward(self, x):
        halves = self.wide(self.stem(x)).chunk(2, 1)
        parts = [self.before(self.down(self.join(torch.cat([*halves, self.inner(halves[1])], 1))))]
        for _ in range(3): parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        y = self.after(torch.cat(parts, 1))
        boxes, scores = self.boxes(y).flatten(2), self.scores(y).flatten(2)
        n, _, places = boxes.shape
        boxes = self.mean(boxes.view(n, 4, self.bins, places).transpose(2, 1).softmax(1)).view(n, 4, places)
        return torch.cat([boxes, scores.sigmoid()], 1)


def make(name):
    """The net, with running statistics that differ from 0 and 1, and the side of its images."""
    torch.manual_seed(1)
    own = {'unet': (Unet, 64), 'yolov5': (Yolov5, 96), 'yolov8': (Yolov8, 96)}
    kind, side = own[name] if name in own else (getattr(torchvision.models, name), 224)
    net = kind()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return net.eval(), side


def run_in(place, words, **options):
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, **options)
    said = (done.stdout + done.stderr).strip()
    if done.returncode or 'error' in said: raise RuntimeError(said.split('\n')[-1])


def far(a, b):
    return abs(a.reshape(b.shape) - b).max() / abs(b).max()


def read_by_opencv(place, options):
    run_in(place, [options.opencv, '-c', OPENCV])


def read_by_mnn(place, options):
    path = dict(os.environ, PYTHONPATH=options.mnn)
    run_in(place, [sys.executable, '-c', CONVERT], env=path)
    with open(os.path.join(place, 'net.prototxt')) as file: output = re.findall(r'top: "(.*)"', file.read())[-1]
    run_in(place, [sys.executable, '-c', MNN, output], env=path)


def read_by_rknn(place, options):
    run_in(place, [options.rknn, '-c', RKNN])


def export(name, place):
    """Writes net.onnx; returns an input and the output."""
    path = os.path.join(place, 'net.onnx')
    if '.onnx@' in name:
        model, shape = name.split('@')
        shutil.copy(model, path)
        session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
        x = numpy.random.RandomState(1).uniform(-1, 1, [int(extent) for extent in shape.split(',')]).astype('f4')
        return x, session.run(None, {session.get_inputs()[0].name: x})[0]
    net, side = make(name)
    x = torch.randn(1, 3, side, side)
    torch.onnx.export(net, (x,), path, input_names=['input'], dynamo=False, opset_version=13)
    return x.numpy(), net(x).numpy()


def check(name, options):
    """For each reader the largest difference, as a share of the largest value, or its error."""
    found = {}
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        x, y = export(name, place)
        numpy.save(os.path.join(place, 'x.npy'), x)
        run_in(place, [options.cortado, 'convert', 'onnx', 'net.onnx', '-o', 'net.prototxt', '--dialect=bvlc',
                       '--shape=' + ','.join(map(str, x.shape))])
        readers = [(name, read) for name, read, given in (('OpenCV', read_by_opencv, options.opencv),
                                                          ('MNN', read_by_mnn, options.mnn),
                                                          ('RKNN', read_by_rknn, options.rknn)) if given]
        for reader, read in readers:
            try:
                read(place, options)
                found[reader] = '%.1e' % far(numpy.load(os.path.join(place, 'y.npy')), y)
            except RuntimeError as error:
                found[reader] = str(error)
    return found


def is_near(reader, share):
    try:
        return float(share) < (NEAR_HALVES if reader == 'RKNN' else NEAR)
    except ValueError:
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado', type=os.path.abspath)
    parser.add_argument('names', nargs='*', default=NAMES)
    parser.add_argument('--opencv', help='a Python with OpenCV 4')
    parser.add_argument('--mnn', type=os.path.abspath, help='a folder with the package MNN')
    parser.add_argument('--rknn', help='a Python with rknn-toolkit2')
    options = parser.parse_intermixed_args()
    warnings.filterwarnings('ignore')
    good = 0
    for name in options.names:
        found = check(name, options)
        good += all(is_near(*pair) for pair in found.items())
        print('%-20s %s' % (os.path.basename(name), '  '.join('%s %s' % pair for pair in found.items())), flush=True)
    print('%d of %d nets are read alike' % (good, len(options.names)))
    return good < len(options.names)


if __name__ == '__main__': sys.exit(main())
