#!/usr/bin/env python3
"""ncnn's side of the inference benchmark.

    ncnn_infer.py FILE.onnx
    ncnn_infer.py FILE.onnx NxCxHxW DATA THREADS SETTING

The first form converts the net with pnnx to files next to FILE.onnx, which the second form reads. SETTING: `batched`,
or `one by one` for the images of a batch in turn.
"""
import os
import subprocess
import sys

import numpy

from serving import serve, timed


def stem_of(path):
    return os.path.splitext(path)[0] + '.ncnn'


def convert(path):
    import pnnx
    unwanted = ['%s=%s' % (kind, os.devnull) for kind in ('pnnxparam', 'pnnxbin', 'pnnxpy', 'pnnxonnx', 'ncnnpy')]
    subprocess.run([pnnx.EXEC_PATH, path, 'fp16=0'] + unwanted, stdout=subprocess.DEVNULL, check=True)
    if not os.path.exists(stem_of(path) + '.bin'):
        sys.exit('pnnx wrote no files')


def loaded(path, threads):
    """Loads the net with all algorithms enabled, but without 16-bit values."""
    import ncnn
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_packing_layout = net.opt.use_winograd_convolution = net.opt.use_sgemm_convolution = True
    for kind in 'fp16_packed', 'fp16_storage', 'fp16_arithmetic', 'bf16_storage', 'bf16_packed':
        if hasattr(net.opt, 'use_' + kind):
            setattr(net.opt, 'use_' + kind, False)
    if net.load_param(stem_of(path) + '.param') or net.load_model(stem_of(path) + '.bin'):
        sys.exit('ncnn cannot read the files of pnnx')
    return net


def request(net, samples):
    extractor = net.create_extractor()
    extractor.input(net.input_names()[0], samples)
    status, output = extractor.extract(net.output_names()[0])
    if status:
        sys.exit('ncnn failed: %d' % status)
    return output


def run_of(net, data, setting):
    import ncnn
    if setting == 'one by one':
        return lambda: numpy.stack([numpy.array(request(net, ncnn.Mat(image))) for image in data])

    def batched():
        output = request(net, ncnn.Mat(data, batch_index=0))
        return numpy.stack([numpy.array(output.batch(image)) for image in range(len(data))])
    return batched


def main():
    if len(sys.argv) == 2:
        return convert(sys.argv[1])
    path, shape, data_file, threads, setting = sys.argv[1:]
    import ncnn
    data = numpy.fromfile(data_file, numpy.float32).reshape([int(dim) for dim in shape.split('x')])
    run = run_of(loaded(path, int(threads)), data, setting)
    serve('ncnn ' + ncnn.__version__, timed(run), run)


main()
