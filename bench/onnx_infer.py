#!/usr/bin/env python3
"""ONNX Runtime's side of the inference benchmark.

    onnx_infer.py FILE.onnx NxCxHxW DATA THREADS SETTING

SETTING: `spinning` or `waiting`, the behaviour of threads between requests.
"""
import sys

import numpy
import onnxruntime

from serving import serve, timed


def main():
    path, shape, data_file, threads, setting = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry('session.intra_op.allow_spinning', '1' if setting == 'spinning' else '0')
    session = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])
    data = numpy.fromfile(data_file, numpy.float32).reshape([int(dim) for dim in shape.split('x')])
    run = lambda: session.run(None, {'data': data})[0]
    serve('ONNX Runtime ' + onnxruntime.__version__, timed(run), run)


main()
