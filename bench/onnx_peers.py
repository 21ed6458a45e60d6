#!/usr/bin/env python3
"""Public architectures, as torchvision has them with random weights, exported to ONNX by PyTorch. Checks that this
program imports the models and returns ONNX Runtime's outputs.

    onnx_peers.py CORTADO [--exporter=torchscript|dynamo] [NAME...]
"""
import argparse
import os
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import torch
import torchvision

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'onnx'))
from workplace import Workplace, far

NAMES = ('alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 mnasnet0_5 '
         'mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet50 '
         'resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 vgg11_bn vgg16 wide_resnet50_2 '
         'fcn_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large').split()
SEGMENTS = ('fcn', 'deeplab', 'lraspp')
NEAR = 1e-4


def make(name):
    """The net, with running statistics that differ from 0 and 1."""
    torch.manual_seed(1)
    if name.startswith(SEGMENTS):
        net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)
    else:
        options = {'init_weights': True} if name in ('googlenet', 'inception_v3') else {}
        net = getattr(torchvision.models, name)(**options)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return net.eval()


def export(name, exporter, path):
    side = 299 if name == 'inception_v3' else 224
    x = torch.randn(2, 3, side, side)
    if exporter == 'dynamo':
        torch.onnx.export(make(name), (x,), path, input_names=['input'], external_data=False, verbose=False,
                          dynamic_shapes=({0: torch.export.Dim('batch')},))
    else:
        torch.onnx.export(make(name), (x,), path, input_names=['input'], dynamo=False, opset_version=17,
                          dynamic_axes={'input': {0: 'batch'}})
    return side


def check(place, name, exporter):
    """The largest difference over batches of one and three."""
    path = os.path.join(place.name, 'model.onnx')
    side = export(name, exporter, path)
    session, worst = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider']), 0
    names = [output.name for output in session.get_outputs()]
    for batch in (1, 3):
        x = numpy.random.RandomState(batch).normal(0, 1, (batch, 3, side, side)).astype('f4')
        theirs = session.run(names, {'input': x})
        ours = place.infer('model.onnx', None, {'input': x}, names)
        worst = max([worst] + [far(a, b) for a, b in zip(ours, theirs)])
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('names', nargs='*', default=NAMES)
    parser.add_argument('--exporter', choices=('torchscript', 'dynamo'), default='torchscript')
    options = parser.parse_intermixed_args()
    warnings.filterwarnings('ignore')
    place = Workplace(options.cortado)
    good = 0
    for name in options.names:
        try:
            worst = check(place, name, options.exporter)
            good += worst < NEAR
            print('%-28s %.1e' % (name, worst), flush=True)
        except Exception as error:  # continue with the others
            print('%-28s %s' % (name, str(error)[:600]), flush=True)
    print('%d of %d within %g of ONNX Runtime %s (torchvision %s, %s)' % (
        good, len(options.names), NEAR, onnxruntime.__version__, torchvision.__version__, options.exporter))
    sys.exit(good < len(options.names))


main()
