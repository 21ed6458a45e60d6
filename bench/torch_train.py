#!/usr/bin/env python3
"""PyTorch's side of the training benchmark.

    torch_train.py NET INIT DATA LABEL THREADS RATE SETTING

DATA and LABEL have one or more batches, used in turn. SETTING: `contiguous` or `channels_last`, after `compiled ` for
torch.compile, and before `cuda:N fp32|tf32|bf16|fp16` for a GPU, whose batches are in its memory, or `bf16` for
autocast on the CPU. Answers `step K` with `SECONDS LOSS...`.
"""
import contextlib
import sys

import numpy
import torch

import torch_net
from serving import serve
from weights import Weights


def batches(net_file, data_file, label_file, setting):
    shape, label_shape = torch_net.input_shapes(net_file)
    data = torch.from_numpy(numpy.fromfile(data_file, numpy.float32)).reshape([-1] + shape)
    label = torch.from_numpy(numpy.fromfile(label_file, numpy.float32)).reshape([-1] + label_shape)
    label = label.long() if len(label_shape) == 1 else label
    return [(torch_net.in_format(x, setting), y) for x, y in zip(data, label)]


class Place:
    """The device and precision of a setting; by default the CPU in fp32."""

    def __init__(self, setting):
        words = setting.split()
        self.device = next((word for word in words if word.startswith('cuda')), 'cpu')
        precision = words[-1]
        self.type = {'bf16': torch.bfloat16, 'fp16': torch.float16}.get(precision)
        self.scaler = torch.amp.GradScaler('cuda') if precision == 'fp16' else None
        if self.device != 'cpu':
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == 'tf32'
            torch.backends.cudnn.benchmark = True

    def mixed(self):
        return torch.autocast(self.device.split(':')[0], self.type) if self.type else contextlib.nullcontext()

    def train(self, optimizer, loss):
        if self.scaler is None:
            loss.backward()
            return optimizer.step()
        self.scaler.scale(loss).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def main():
    net_file, init, data_file, label_file, threads, rate, setting = sys.argv[1:]
    torch_net.prepare(int(threads))
    place = Place(setting)
    net = torch_net.in_format(torch_net.Net(torch_net.layers_of(net_file), Weights(init)), setting).to(place.device)
    feed = [(x.to(place.device), y.to(place.device)) for x, y in batches(net_file, data_file, label_file, setting)]
    optimizer = torch_net.sgd(net.parameters(), float(rate))
    run = torch_net.compiled(net, setting)
    taken = 0

    def step():
        """Returns the loss on its device, so that a GPU is not synchronized before the end of the block."""
        nonlocal taken
        data, label = feed[taken % len(feed)]
        taken += 1
        optimizer.zero_grad(set_to_none=True)
        with place.mixed():
            loss = run(data, label)
        place.train(optimizer, loss)
        return loss.detach()

    serve('PyTorch ' + torch.__version__.split('+')[0], step,
          device_memory=lambda: torch.cuda.max_memory_allocated() / 2 ** 20)


main()
