#!/usr/bin/env python3
"""Quantizes an ONNX file to 8-bit integers, with the peers' own tools and defaults.

    peer_quantize.py FILE.onnx NxCxHxW BATCHES RESULT.onnx BITS
    peer_quantize.py FILE.onnx NxCxHxW BATCHES RESULT.xml

The first form uses ONNX Runtime's quantize_static; weights have BITS bits, 8 or 7. The second uses NNCF, for OpenVINO
only. Both calibrate with BATCHES batches of random samples.
"""
import sys

import numpy


def samples(shape, batches):
    """Samples of the same distribution as the measured ones."""
    random = numpy.random.default_rng(2)
    return [random.standard_normal(shape, dtype=numpy.float32) for _ in range(batches)]


def by_onnx_runtime(path, inputs, result, bits):
    """QDQ, weights with a scale for each output. The Softmax stays on floats: integers represent probabilities as
    multiples of 1/256, which is more than most of a thousand classes have."""
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = iter(inputs)

        def get_next(self):
            batch = next(self.left, None)
            return None if batch is None else {'data': batch}

    prepared = result + '.prepared'
    quant_pre_process(path, prepared)
    softmax = [node.name for node in onnx.load(prepared).graph.node if node.op_type == 'Softmax']
    quantization.quantize_static(
        prepared, result, Reader(), quant_format=quantization.QuantFormat.QDQ, per_channel=True, reduce_range=bits < 8,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
        nodes_to_exclude=softmax)


def by_nncf(path, inputs, result):
    import nncf
    import openvino
    net = openvino.Core().read_model(path)
    openvino.save_model(nncf.quantize(net, nncf.Dataset(inputs), subset_size=len(inputs)), result,
                        compress_to_fp16=False)


def main():
    path, shape, batches, result, *bits = sys.argv[1:]
    inputs = samples([int(dim) for dim in shape.split('x')], int(batches))
    if bits:
        by_onnx_runtime(path, inputs, result, int(bits[0]))
    else:
        by_nncf(path, inputs, result)


main()
