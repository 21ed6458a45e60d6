#!/usr/bin/env python3
"""PyTorch's side of the training benchmark: the net of a prototxt as PyTorch modules, trained on data in memory.

    torch_worker.py NET INIT.caffemodel DATA.f32 LABEL.f32 SHAPE THREADS LR FORMAT

SHAPE is NxCxHxW, FORMAT is `contiguous` or `channels_last`. Reads `step K` lines, answers `SECONDS LOSS`.
"""
import sys
import time

import numpy
import torch
import torch.nn.functional as F

import prototxt
from prototxt import one


def pair(parameters, name, default):
    if name + '_h' in parameters:
        return int(one(parameters, name + '_h')), int(one(parameters, name + '_w'))
    short = 'kernel_size' if name == 'kernel' else name
    value = int(one(parameters, short, default))
    return value, value


class Net(torch.nn.Module):
    """Executes the layers in the file's order, with Caffe's arithmetic."""

    def __init__(self, layers, weights, input_channels):
        super().__init__()
        self.steps = []
        self.kept = torch.nn.ModuleDict()
        names = [one(layer, 'name') for layer in layers]
        position = 0
        while position < len(layers):
            layer = layers[position]
            kind = one(layer, 'type')
            following = layers[position + 1] if position + 1 < len(layers) else None
            scaled = kind == 'BatchNorm' and following is not None and one(following, 'type') == 'Scale'
            blobs = weights.get(names[position], [])
            if scaled:
                blobs = blobs + weights[names[position + 1]]
            module = self.make(kind, layer, blobs)
            if module is not None:
                self.kept[str(position)] = module
            last = following if scaled else layer
            self.steps.append((module if module is not None else self.function(kind, layer),
                               [b for b in layer.get('bottom', [])], one(last, 'top')))
            position += 2 if scaled else 1

    def make(self, kind, layer, blobs):
        tensors = [torch.from_numpy(numpy.array(data, dtype=numpy.float32).reshape(shape)) for shape, data in blobs]
        if kind == 'Convolution':
            p = one(layer, 'convolution_param')
            groups = int(one(p, 'group', 1))
            w = tensors[0]
            module = torch.nn.Conv2d(w.shape[1] * groups, w.shape[0], tuple(w.shape[2:]), pair(p, 'stride', 1),
                                     pair(p, 'pad', 0), groups=groups, bias=len(tensors) > 1)
        elif kind == 'InnerProduct':
            module = torch.nn.Linear(tensors[0].shape[1], tensors[0].shape[0], bias=len(tensors) > 1)
        elif kind == 'BatchNorm':
            module = torch.nn.BatchNorm2d(tensors[0].numel())
            tensors = tensors[3:]
        elif kind == 'LRN':
            p = one(layer, 'lrn_param', {})
            return torch.nn.LocalResponseNorm(int(one(p, 'local_size', 5)), one(p, 'alpha', 1.0), one(p, 'beta', 0.75),
                                              one(p, 'k', 1.0))
        elif kind == 'Dropout':
            return torch.nn.Dropout(one(one(layer, 'dropout_param', {}), 'dropout_ratio', 0.5))
        else:
            return None
        with torch.no_grad():
            module.weight.copy_(tensors[0])
            if len(tensors) > 1:
                module.bias.copy_(tensors[1])
        return module

    @staticmethod
    def function(kind, layer):
        if kind == 'ReLU':
            return lambda x: F.relu(x, inplace=True)
        if kind == 'Pooling':
            p = one(layer, 'pooling_param')
            average = one(p, 'pool', 'MAX') == 'AVE'
            if one(p, 'global_pooling', False):
                return lambda x: F.adaptive_avg_pool2d(x, 1)
            k, s, pad = pair(p, 'kernel', 0), pair(p, 'stride', 1), pair(p, 'pad', 0)
            pool = F.avg_pool2d if average else F.max_pool2d
            return lambda x: pool(x, k, s, pad, ceil_mode=True)
        if kind == 'Concat':
            return lambda *x: torch.cat(x, 1)
        if kind == 'Eltwise':
            return lambda a, b: a + b
        if kind == 'Flatten':
            return lambda x: x.flatten(1)
        if kind == 'SoftmaxWithLoss':
            weight = one(layer, 'loss_weight', 1.0)
            return lambda x, label: F.cross_entropy(x.flatten(1), label) * weight
        raise SystemExit('torch_worker: no translation for layer type ' + kind)

    def forward(self, data, label):
        blobs = {'data': data, 'label': label}
        loss = 0
        for step, bottoms, top in self.steps:
            x = [blobs[b] for b in bottoms]
            if isinstance(step, torch.nn.Linear):
                x[0] = x[0].flatten(1)
            blobs[top] = step(*x)
            if x[-1] is label:
                loss = loss + blobs[top]
        return loss


def main():
    net_file, init, data_file, label_file, shape, threads, rate, memory_format = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    dims = [int(d) for d in shape.split('x')]
    layers = prototxt.train_layers(prototxt.parse(open(net_file).read()))
    net = Net(layers, prototxt.weights(init), dims[1])
    data = torch.from_numpy(numpy.fromfile(data_file, dtype=numpy.float32).reshape(dims))
    label = torch.from_numpy(numpy.fromfile(label_file, dtype=numpy.float32)).long()
    if memory_format == 'channels_last':
        net = net.to(memory_format=torch.channels_last)
        data = data.to(memory_format=torch.channels_last)
    # foreach: one call for all weights where this version has it.
    optimizer = torch.optim.SGD(net.parameters(), lr=float(rate), momentum=0.9, weight_decay=0.0005, foreach=True)
    print('ready', torch.__version__, flush=True)
    for line in sys.stdin:
        count = int(line.split()[1])
        start = time.perf_counter()
        losses = []
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss = net(data, label)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        print(time.perf_counter() - start, ' '.join('%.6g' % value for value in losses), flush=True)


main()
