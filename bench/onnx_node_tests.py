#!/usr/bin/env python3
"""ONNX's own tests of single nodes (those of the Python package onnx), run by `cortado infer`.

    onnx_node_tests.py CORTADO [NAME...]

Counted are the tests whose inputs and outputs are tensors of numbers, with at least one input of 32-bit floats, and
whose outputs have values. Integers and booleans (shapes, axes, indices) become constants of the model. If the program
requires further constants, so do all inputs after the first one of floats, as weights are in a model. Each test has
one data set, with the batch that it has.

Prints a verdict for each test: `pass`; `refused` with the reason; `unknown` if the operator is not supported in any
form; `WRONG` if the program returned other values or shapes, or failed after the import. Two tests are `disputed`: they
expect corners of a fractional number of outputs, where ONNX Runtime, PyTorch and this program take the whole number.
NAMEs are parts of names of tests.
"""
import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
import onnx.backend.test.case.node
from onnx import numpy_helper

DISPUTED = 'test_resize_downsample_scales_linear_align_corners', 'test_resize_downsample_scales_cubic_align_corners'
OF_IMPORT = 3  # exit code of a model that the program refuses


def is_counted(case):
    if not case.data_sets: return False
    inputs, outputs = case.data_sets[0]
    values = list(inputs) + list(outputs)
    if not all(isinstance(value, (numpy.ndarray, numpy.generic)) for value in values): return False
    return (all(numpy.asarray(value).dtype.kind in 'fiub' for value in values) and
            any(numpy.asarray(value).dtype == numpy.float32 for value in inputs) and
            all(numpy.asarray(value).size for value in values))


def model_of(case, weights):
    """The model with its constants, and the values of its other inputs. `weights`: all inputs after the first one of
    floats are constants."""
    model, fed = onnx.ModelProto(), {}
    model.CopyFrom(case.model)
    inputs = [each for each in case.model.graph.input]
    del model.graph.input[:]
    for declared, value in zip(inputs, case.data_sets[0][0]):
        value = numpy.asarray(value)
        if value.dtype != numpy.float32 or (weights and fed):
            model.graph.initializer.append(numpy_helper.from_array(value, declared.name))
        else:
            model.graph.input.append(declared)
            fed[declared.name] = value
    return model, fed


def infer(cortado, place, case, weights):
    """The exit code, the message, and the outputs."""
    model, fed = model_of(case, weights)
    path = os.path.join(place, 'model.onnx')
    onnx.save(model, path)
    flags = [cortado, 'infer', '--force', '--threads=1', '--model=' + path]
    for i, (name, value) in enumerate(fed.items()):
        numpy.save(os.path.join(place, 'in%d.npy' % i), value)
        flags.append('--input=%s=%s/in%d.npy' % (name, place, i))
    names = [output.name for output in case.model.graph.output]
    flags += ['--output=%s=%s/out%d.npy' % (name, place, i) for i, name in enumerate(names)]
    ran = subprocess.run(flags, capture_output=True, text=True, timeout=120)
    made = range(len(names) if ran.returncode == 0 else 0)
    outputs = [numpy.load(os.path.join(place, 'out%d.npy' % i)) for i in made]
    return ran.returncode, (ran.stderr.strip().splitlines() or [''])[0], outputs


def difference(case, outputs):
    """What is wrong with the outputs; empty if nothing is."""
    for got, wanted in zip(outputs, case.data_sets[0][1]):
        wanted = numpy.asarray(wanted)
        if got.shape != wanted.shape: return 'shape %s, not %s' % (got.shape, wanted.shape)
        wanted = wanted.astype('f8')
        if not numpy.allclose(got, wanted, rtol=max(case.rtol, 1e-3), atol=max(case.atol, 1e-5), equal_nan=True):
            return 'off by %g' % numpy.nanmax(abs(got - wanted))
    return ''


def check(cortado, case):
    """The verdict and its reason."""
    with tempfile.TemporaryDirectory() as place:
        code, message, outputs = infer(cortado, place, case, False)
        if code == OF_IMPORT and 'must be constant' in message:
            code, message, outputs = infer(cortado, place, case, True)
    reason = message.split(': ', 2)[-1]
    if code == OF_IMPORT: return 'unknown' if 'the operator is not supported' in message else 'refused', reason
    wrong = reason if code else difference(case, outputs)
    if wrong and case.name in DISPUTED: return 'disputed', wrong
    return ('WRONG', wrong) if wrong else ('pass', '')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_intermixed_args()
    warnings.filterwarnings('ignore')
    numpy.seterr(all='ignore')
    cortado, total = os.path.abspath(options.cortado), collections.Counter()
    cases = [case for case in onnx.backend.test.case.node.collect_testcases(None) if is_counted(case) and
             (not options.names or any(name in case.name for name in options.names))]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, (verdict, reason) in zip(cases, pool.map(lambda case: check(cortado, case), cases)):
            total[verdict] += 1
            print('%-60s %-8s %s' % (case.name, verdict, reason), flush=True)
    verdicts = 'pass', 'refused', 'WRONG', 'disputed', 'unknown'
    print(', '.join('%d %s' % (total[verdict], verdict) for verdict in verdicts),
          'of %d (onnx %s)' % (len(cases), onnx.__version__))
    sys.exit(total['WRONG'] > 0)


main()
