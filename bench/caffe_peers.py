#!/usr/bin/env python3
"""Public architectures, exported to ONNX by PyTorch with random weights, as nets of BVLC Caffe 1.0. Checks that other
readers of Caffe's language return PyTorch's outputs: OpenCV's readNetFromCaffe, and MNN's converter.

    caffe_peers.py CORTADO [--opencv=PYTHON] [--mnn=FOLDER] [NAME...]

--opencv is a Python with OpenCV 4 (OpenCV 5 does not read Caffe's nets), --mnn a folder with the Python package MNN.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch
import torchvision
from torch import nn

NAMES = ('resnet18 squeezenet1_1 mobilenet_v2 mobilenet_v3_small efficientnet_b0 shufflenet_v2_x1_0 unet yolo').split()
NEAR = 1e-4
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


class Yolo(nn.Module):
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


def make(name):
    """The net, with running statistics that differ from 0 and 1, and the side of its images."""
    torch.manual_seed(1)
    net, side = {'unet': (Unet, 64), 'yolo': (Yolo, 96)}.get(name, (getattr(torchvision.models, name, None), 224))
    net = net()
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


def check(name, options):
    """For each reader the largest difference, as a share of the largest value, or its error."""
    net, side = make(name)
    x = torch.randn(1, 3, side, side)
    found = {}
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        y = net(x).numpy()
        torch.onnx.export(net, (x,), os.path.join(place, 'net.onnx'), input_names=['input'], dynamo=False,
                          opset_version=13)
        numpy.save(os.path.join(place, 'x.npy'), x.numpy())
        run_in(place, [options.cortado, 'convert', 'onnx', 'net.onnx', '-o', 'net.prototxt', '--dialect=bvlc'])
        readers = [('OpenCV', read_by_opencv)] * bool(options.opencv) + [('MNN', read_by_mnn)] * bool(options.mnn)
        for reader, read in readers:
            try:
                read(place, options)
                found[reader] = '%.1e' % far(numpy.load(os.path.join(place, 'y.npy')), y)
            except RuntimeError as error:
                found[reader] = str(error)
    return found


def is_near(share):
    try:
        return float(share) < NEAR
    except ValueError:
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado', type=os.path.abspath)
    parser.add_argument('names', nargs='*', default=NAMES)
    parser.add_argument('--opencv', help='a Python with OpenCV 4')
    parser.add_argument('--mnn', type=os.path.abspath, help='a folder with the package MNN')
    options = parser.parse_intermixed_args()
    warnings.filterwarnings('ignore')
    good = 0
    for name in options.names:
        found = check(name, options)
        good += all(is_near(share) for share in found.values())
        print('%-20s %s' % (name, '  '.join('%s %s' % pair for pair in found.items())), flush=True)
    print('%d of %d nets are read alike' % (good, len(options.names)))
    return good < len(options.names)


if __name__ == '__main__': sys.exit(main())
