#!/usr/bin/env python3
"""Nets in prototxt, with random weights: exports each that can be deployed as an ONNX model, compares ONNX Runtime's
outputs with the net's, and those of the net read back from the model.

    onnx_nets.py CORTADO FOLDER [--most-weights=N] [--done=FILE] [-k TEXT]

FOLDER is searched for .prototxt files. --done=FILE adds the outcomes to a file, and skips nets that it has. Outcomes:
right, wrong, refused (a layer has no operators), failed (ONNX Runtime refuses the model, or a command fails);
not counted: not deployed (no net, or its input's shape is unknown), large, unsteady (ONNX Runtime's outputs with and
without its optimizations differ by a tenth of the difference or more on the same inputs: these random weights amplify
rounding).
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tests.onnx.random_weights import draw_weights, numpy

TOLERANCE = 1e-4
SHAPES = [], ['--shape=1,3,224,224']
NOT_COUNTED = 'not deployed', 'large', 'unsteady'


class Failure(Exception):
    def __init__(self, outcome, text):
        super().__init__(text)
        self.outcome = outcome


def run(words, outcome):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if 'error:' in line or 'ERROR' in line or ' above ' in line]
        raise Failure(outcome, (errors or [done.stderr])[0].strip()[-300:])
    return done.stdout


def deploy(cortado, net, folder):
    """The deploy net's summary."""
    for shape in SHAPES:
        try:
            run([cortado, 'deploy', net, '-o', folder / 'deploy.prototxt', '--force', *shape], 'not deployed')
            return json.loads(run([cortado, 'summary', folder / 'deploy.prototxt', '--phase=TEST', '--json'],
                                  'not deployed'))
        except Failure as error:
            failure = error
    raise failure


def logits(summary):
    """The outputs; what a Softmax or Sigmoid is computed from in place of its values, which random weights saturate."""
    makers = {top: layer for layer in summary['layers'] for top in layer['tops']}
    return [makers[output]['bottoms'][0] if makers[output]['type'] in ('Softmax', 'Sigmoid') else output
            for output in summary['outputs']]


def verify(cortado, source, more, result):
    """The largest difference."""
    done = subprocess.run([str(word) for word in [cortado, 'convert', 'onnx', source, *more, '-o', result, '--force',
                           '--verify', '--python=' + sys.executable, '--tolerance=%g' % TOLERANCE]],
                          capture_output=True, text=True, timeout=300)
    shares = re.findall(r'\s(\d\.\de[-+]\d+|inf|nan)\b', done.stdout)
    if done.returncode == 3 and 'cannot be written as ONNX' in done.stderr:
        raise Failure('refused', re.search(r'layer .*', done.stderr).group(0)[:300])
    if not shares:
        errors = [line for line in done.stderr.splitlines() if 'error:' in line]
        raise Failure('failed', (errors or [done.stderr])[-1].strip()[-300:])
    if done.returncode: raise Failure('wrong', ' '.join(shares))
    return max(float(share) for share in shares)


def far_from_itself(model, x):
    """The largest difference of ONNX Runtime's outputs with its optimizations from those without."""
    found = []
    for level in 'ORT_DISABLE_ALL', 'ORT_ENABLE_ALL':
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        found.append(onnxruntime.InferenceSession(str(model), options).run(None, x))
    if any(a.shape != b.shape or not numpy.isfinite(b).all() for a, b in zip(*found)): return float('inf')
    return max(float(abs(a - b).max() / max(1e-30, abs(b).max())) for a, b in zip(*found))


def is_steady(compare, model, folder):
    """Whether a difference is much larger than ONNX Runtime's from itself; and both, for the worst of a few inputs.
    `compare` verifies with given inputs."""
    worst = 0, 0
    for seed in range(4):
        draw, x, flags = numpy.random.RandomState(seed), {}, []
        for value in onnxruntime.InferenceSession(str(model)).get_inputs():
            shape = [extent if isinstance(extent, int) else 1 + 2 * (seed > 0) for extent in value.shape]
            x[value.name] = draw.uniform(-1, 1, shape).astype('f4')
            numpy.save(folder / ('%d.npy' % len(x)), x[value.name])
            flags += ['--input', '%s=%s' % (value.name, folder / ('%d.npy' % len(x)))]
        try:
            found = compare(flags)
        except Failure as failure:
            if failure.outcome != 'wrong': raise
            found = max(float(share) for share in str(failure).split())
        change = far_from_itself(model, x)
        if found > TOLERANCE and found > 10 * change: return True, (found, change)
        worst = max(worst, (found, change))
    return False, worst


def outcome(cortado, net, folder, most_weights):
    try:
        summary = deploy(cortado, net, folder)
        count = sum(int(numpy.prod(shape)) for shapes in summary['params'].values() for shape in shapes)
        if count > most_weights: return 'large', '%d weights' % count
        weights, outputs = draw_weights(summary, str(folder / 'net.npz')), logits(summary)
        shares, model = [], folder / 'net.onnx'
        for source, more, result in ((folder / 'deploy.prototxt', weights + ['--blobs=' + ','.join(outputs)], model),
                                     (model, [], folder / 'back.prototxt')):
            compare = lambda flags: verify(cortado, source, more + flags, result)
            try:
                shares.append('%.1e' % compare([]))
            except Failure as failure:
                if failure.outcome != 'wrong': raise
                steady, (found, change) = is_steady(compare, model, folder)
                return 'wrong' if steady else 'unsteady', '%s; %.1e, ONNX Runtime from itself %.1e' % (
                    failure, found, change)
        return 'right', ' '.join(shares)
    except Failure as failure:
        return failure.outcome, str(failure)
    except subprocess.TimeoutExpired:
        return 'failed', 'more than 300 s'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('folder')
    parser.add_argument('--most-weights', type=int, default=30_000_000)
    parser.add_argument('--done')
    parser.add_argument('-k', default='')
    options = parser.parse_args()
    outcomes = {}
    if options.done and os.path.exists(options.done):
        with open(options.done) as file: outcomes = dict(json.loads(line) for line in file)
    nets = sorted(str(path.relative_to(options.folder)) for path in pathlib.Path(options.folder).rglob('*.prototxt'))
    for net in nets:
        if options.k not in net or net in outcomes: continue
        with tempfile.TemporaryDirectory() as folder:
            outcomes[net] = outcome(options.cortado, os.path.join(options.folder, net), pathlib.Path(folder),
                                    options.most_weights)
        print('%-12s %s  %s' % (outcomes[net][0], net, outcomes[net][1]), flush=True)
        if options.done:
            with open(options.done, 'a') as file: file.write(json.dumps([net, outcomes[net]]) + '\n')
    counts = collections.Counter(result for result, text in outcomes.values())
    counted = sum(count for result, count in counts.items() if result not in NOT_COUNTED)
    print('%d nets: %s; right %d of %d counted' % (len(outcomes), ', '.join('%s %d' % each for each in
                                                   counts.most_common()), counts['right'], counted))


main()
