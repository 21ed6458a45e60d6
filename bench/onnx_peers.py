#!/usr/bin/env python3
"""Public architectures, as torchvision and timm have them with random weights, exported to ONNX by PyTorch with an open
batch. Checks that this program imports the models and returns ONNX Runtime's outputs for batches of 1 and 3.

    onnx_peers.py CORTADO [--exporter=torchscript|dynamo] [NAME...]   NAME: as torchvision's, or timm/NAME
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import torch
import torchvision

NAMES = ('alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 mnasnet0_5 '
         'mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet50 '
         'resnext50_32x4d shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 vgg11_bn vgg16 wide_resnet50_2 '
         'fcn_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large').split()
TIMM = ('vit_tiny_patch16_224 deit_tiny_patch16_224 swin_tiny_patch4_window7_224 convnext_atto mobilenetv3_small_100 '
        'efficientnet_lite0 ghostnet_100 regnetx_002 mixer_s32_224 levit_128s mobilevit_xxs edgenext_xx_small '
        'poolformer_s12 repvgg_a0 hrnet_w18_small dla34 coat_lite_tiny pvt_v2_b0 mobileone_s0 efficientformer_l1 '
        'crossvit_tiny_240 gmlp_s16_224 lcnet_050 rexnet_100 ese_vovnet19b_slim').split()
SEGMENTS = ('fcn', 'deeplab', 'lraspp')
NEAR = 1e-4
BATCHES = 1, 3


def make(name):
    """The net, with running statistics that differ from 0 and 1, and without weights that are all 0."""
    torch.manual_seed(1)
    if name.startswith('timm/'):
        import timm
        net = timm.create_model(name[5:], pretrained=False)
    elif name.startswith(SEGMENTS):
        net = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)
    else:
        options = {'init_weights': True} if name in ('googlenet', 'inception_v3') else {}
        net = getattr(torchvision.models, name)(**options)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    for weight in net.parameters():
        if not weight.any(): torch.nn.init.normal_(weight, 0, 0.02)
    return net.eval()


def export(name, exporter, path):
    net = make(name)
    side = 299 if name == 'inception_v3' else getattr(net, 'default_cfg', {}).get('input_size', (3, 224))[1]
    x = torch.randn(2, 3, side, side)
    if exporter == 'dynamo':
        torch.onnx.export(net, (x,), path, input_names=['input'], external_data=False, verbose=False,
                          dynamic_shapes=({0: torch.export.Dim('batch')},))
    else:
        torch.onnx.export(net, (x,), path, input_names=['input'], dynamo=False, opset_version=17,
                          dynamic_axes={'input': {0: 'batch'}})
    return side


def infer(cortado, folder, model, x, names):
    """The program's outputs, or the last line of its error."""
    numpy.save(os.path.join(folder, 'x.npy'), x)
    words = [cortado, 'infer', model, '--input=input=' + os.path.join(folder, 'x.npy'), '--force', '--quiet']
    words += ['--output=%s=%s/y%d.npy' % (name, folder, i) for i, name in enumerate(names)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode: raise RuntimeError(next(line for line in done.stderr.splitlines() if 'error:' in line)[-300:])
    return [numpy.load('%s/y%d.npy' % (folder, i)) for i in range(len(names))]


def check(cortado, folder, model, batch):
    """The largest difference, as a share of the largest value."""
    session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
    names = [output.name for output in session.get_outputs()]
    shape = [batch] + session.get_inputs()[0].shape[1:]
    x = numpy.random.RandomState(batch).normal(0, 1, shape).astype('f4')
    ours = infer(cortado, folder, model, x, names)
    return max(abs(a - b).max() / abs(b).max() if a.shape == b.shape else numpy.inf
               for a, b in zip(ours, session.run(names, {'input': x})))


def outcome(cortado, folder, model):
    """The outcome, 'right', 'wrong', 'batch of 1 only' or 'refused', and details."""
    found = []
    for batch in BATCHES:
        try:
            found.append(check(cortado, folder, model, batch))
        except RuntimeError as error:
            return ('refused' if not found else 'batch of 1 only'), str(error)
    return ('right' if max(found) < NEAR else 'wrong'), ' '.join('%.1e' % one for one in found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('names', nargs='*', default=NAMES + ['timm/' + name for name in TIMM])
    parser.add_argument('--exporter', choices=('torchscript', 'dynamo'), default='torchscript')
    parser.add_argument('--models', help='folder for the models; those that it has are not exported again')
    options = parser.parse_intermixed_args()
    warnings.filterwarnings('ignore')
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        models = options.models or folder
        os.makedirs(models, exist_ok=True)
        for name in options.names:
            model = os.path.join(models, '%s_%s.onnx' % (name.replace('/', '_'), options.exporter))
            try:
                if not os.path.exists(model): export(name, options.exporter, model)
            except Exception as error:  # PyTorch cannot export it
                print('%-34s not exported: %s' % (name, str(error)[:200]), flush=True)
                continue
            result, details = outcome(options.cortado, folder, model)
            counts[result] += 1
            print('%-34s %-16s %s' % (name, result, details), flush=True)
            if not options.models: os.remove(model)
    print('%s of %d models of torch %s (%s), by ONNX Runtime %s, to %g' % (
        ', '.join('%s %d' % each for each in counts.most_common()), sum(counts.values()), torch.__version__,
        options.exporter, onnxruntime.__version__, NEAR))
    sys.exit(counts['right'] < sum(counts.values()))


main()
