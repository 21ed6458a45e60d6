#!/usr/bin/env python3
"""PyTorch's side of the training benchmark.

    torch_train.py NET INIT DATA LABEL THREADS RATE SETTING

DATA and LABEL hold one batch or several, taken in turn. SETTING: `contiguous` or `channels_last`, after `compiled ` for
torch.compile. Answers `step K` with `SECONDS LOSS...`.
"""
import sys

import numpy
import torch

import torch_net
from serving import serve
from weights import Weights


def batches(net_file, data_file, label_file, setting):
    shape = torch_net.input_shape(net_file)
    data = torch.from_numpy(numpy.fromfile(data_file, numpy.float32)).reshape([-1] + shape)
    label = torch.from_numpy(numpy.fromfile(label_file, numpy.float32)).long().reshape(-1, shape[0])
    return [(torch_net.in_format(x, setting), y) for x, y in zip(data, label)]


def sgd(parameters, rate):
    options = dict(lr=rate, momentum=0.9, weight_decay=0.0005)
    parameters = list(parameters)
    try:  # one call for all weights, in one pass over memory, where this version has it
        return torch.optim.SGD(parameters, fused=True, **options)
    except TypeError:
        return torch.optim.SGD(parameters, foreach=True, **options)


def main():
    net_file, init, data_file, label_file, threads, rate, setting = sys.argv[1:]
    torch_net.prepare(int(threads))
    net = torch_net.in_format(torch_net.Net(net_file, Weights(init)), setting)
    feed = batches(net_file, data_file, label_file, setting)
    optimizer = sgd(net.parameters(), float(rate))
    run = torch.compile(net) if 'compiled' in setting else net
    taken = 0

    def step():
        nonlocal taken
        data, label = feed[taken % len(feed)]
        taken += 1
        optimizer.zero_grad(set_to_none=True)
        loss = run(data, label)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    serve('PyTorch ' + torch.__version__.split('+')[0], step)


main()
