#!/usr/bin/env python3
"""PyTorch's side of `time-to-accuracy`: trains a net with a solver.

    torch_fit.py SOLVER INIT FOLDER THREADS SETTING

FOLDER has the images and labels as bytes, {train,test}.{images,labels}; they stay bytes in memory, and each batch is
made
from a slice of them. SETTING: `contiguous` or `channels_last`, after `compiled ` for torch.compile. Logs each test in
two lines, like ours: `Iteration N, Testing` and `accuracy = A`.
"""
import sys

import numpy
import torch
import torch.nn.functional as F

import nets
import prototxt
import torch_net
from prototxt import one
from weights import Weights

NOT_OF_SCORES = 'Data', 'Accuracy', 'SoftmaxWithLoss'


class Samples:
    """Batches in record order, repeatedly, as of a Data layer."""

    def __init__(self, layers, phase, folder, setting):
        layer = next(layer for layer in layers if one(layer, 'type') == 'Data' and nets.is_of(layer, phase))
        transform = one(layer, 'transform_param', {})
        self.batch, self.setting = int(one(one(layer, 'data_param'), 'batch_size')), setting
        self.scale, self.mean = one(transform, 'scale', 1.0), one(transform, 'mean_value', 0.0)
        read = lambda kind: torch.from_numpy(numpy.fromfile('%s/%s.%s' % (folder, phase.lower(), kind), numpy.uint8))
        self.labels = read('labels').long()
        self.images = read('images').reshape(len(self.labels), 1, 28, 28)

    def slice(self, begin, end):
        images = self.images[begin:end].float().sub_(self.mean).mul_(self.scale)
        return torch_net.in_format(images, self.setting), self.labels[begin:end]

    def cyclic(self, number):
        begin = number * self.batch % len(self.labels)
        end = begin + self.batch
        if end <= len(self.labels):
            return self.slice(begin, end)
        parts = self.slice(begin, len(self.labels)), self.slice(0, end - len(self.labels))
        return tuple(torch.cat(both) for both in zip(*parts))

    def once(self):
        return (self.slice(begin, begin + self.batch) for begin in range(0, len(self.labels), self.batch))


def accuracy(net, samples):
    net.eval()
    with torch.inference_mode():
        right = sum(int((net(data).argmax(1) == label).sum()) for data, label in samples.once())
    net.train()
    return right / len(samples.labels)


class Solver:
    """Caffe's rule, h = m h + rate (g + decay w) and w -= h, using PyTorch's with a rate of 1: PyTorch applies the rate
    outside of h, which differs while the rate decays."""

    def __init__(self, message, parameters):
        self.rate, self.power = one(message, 'base_lr'), one(message, 'power')
        self.decay, self.iterations = one(message, 'weight_decay'), int(one(message, 'max_iter'))
        self.optimizer = torch_net.sgd(parameters, 1.0)
        self.optimizer.param_groups[0]['momentum'] = one(message, 'momentum')

    def step(self, iteration, loss):
        rate = self.rate * (1 - iteration / self.iterations) ** self.power
        self.optimizer.param_groups[0]['weight_decay'] = rate * self.decay
        self.optimizer.zero_grad(set_to_none=True)
        (loss * rate).backward()
        self.optimizer.step()


def main():
    solver_file, init, folder, threads, setting = sys.argv[1:]
    torch_net.prepare(int(threads))
    print('PyTorch ' + torch.__version__.split('+')[0], flush=True)
    with open(solver_file) as file:
        message = prototxt.parse(file.read())
    layers = torch_net.layers_of(one(message, 'net'))
    training, testing = (Samples(layers, phase, folder, setting) for phase in ('TRAIN', 'TEST'))
    scores = [layer for layer in layers if one(layer, 'type') not in NOT_OF_SCORES]
    net = torch_net.in_format(torch_net.Net(scores, Weights(init)), setting).train()
    solver, interval = Solver(message, net.parameters()), int(one(message, 'test_interval'))
    run = torch_net.compiled(net, setting)
    for iteration in range(solver.iterations):
        data, label = training.cyclic(iteration)
        solver.step(iteration, F.cross_entropy(run(data), label))
        if (iteration + 1) % interval == 0:
            print('Iteration %d, Testing' % (iteration + 1))
            print('accuracy = %.4f' % accuracy(run, testing), flush=True)


main()
