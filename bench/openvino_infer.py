#!/usr/bin/env python3
"""OpenVINO's side of the inference benchmark.

    openvino_infer.py FILE NxCxHxW DATA THREADS SETTING

FILE: .onnx, or OpenVINO's own .xml. SETTING ends with `pinned` or `unpinned`: whether threads are pinned to CPUs.
Layers that FILE has on 8-bit integers run on integers.
"""
import sys

import numpy
import openvino

from serving import serve, timed


def main():
    path, shape, data_file, threads, setting = sys.argv[1:]
    core = openvino.Core()
    # Minimum latency, in 32-bit floats even if the CPU supports shorter ones.
    net = core.compile_model(core.read_model(path), 'CPU', {
        'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_NUM_THREADS': int(threads), 'INFERENCE_PRECISION_HINT': 'f32',
        'ENABLE_CPU_PINNING': 'unpinned' not in setting})
    request = net.create_infer_request()
    data = numpy.fromfile(data_file, numpy.float32).reshape([int(dim) for dim in shape.split('x')])
    request.set_input_tensor(openvino.Tensor(data, shared_memory=True))
    run = lambda: request.infer(share_outputs=True)[0]
    serve('OpenVINO ' + openvino.__version__.split('-')[0], timed(run), run)


main()
