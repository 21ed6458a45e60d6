#!/usr/bin/env python3
"""PyTorch's side of the inference benchmark.

    torch_infer.py NET WEIGHTS DATA THREADS SETTING
    torch_infer.py NET WEIGHTS DATA THREADS FILE.onnx

SETTING: `traced` (frozen and optimised for inference) or `compiled`, then `contiguous` or `channels_last`. The second
form exports the net to ONNX.
"""
import sys
import warnings

import numpy
import torch

import torch_net
from serving import serve, timed
from weights import Weights

warnings.filterwarnings('ignore', category=FutureWarning)
warnings.filterwarnings('ignore', category=DeprecationWarning)


def prepared(net, data, setting):
    if 'compiled' in setting:
        return torch.compile(net, options={'freezing': True})
    frozen = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(net, data)))
    frozen(data)
    return frozen


def main():
    net_file, init, data_file, threads, setting = sys.argv[1:]
    torch_net.prepare(int(threads))
    net = torch_net.in_format(torch_net.Net(torch_net.layers_of(net_file), Weights(init)).eval(), setting)
    data = torch.from_numpy(numpy.fromfile(data_file, numpy.float32).reshape(torch_net.input_shapes(net_file)[0]))
    data = torch_net.in_format(data, setting)
    with torch.inference_mode(not setting.endswith('.onnx')), torch.no_grad():
        if setting.endswith('.onnx'):
            torch.onnx.export(net, (data,), setting, dynamo=False, input_names=['data'], output_names=['output'])
            return
        run = prepared(net, data, setting)
        serve('PyTorch ' + torch.__version__.split('+')[0], timed(lambda: run(data)),
              lambda: run(data).contiguous().numpy())


main()
