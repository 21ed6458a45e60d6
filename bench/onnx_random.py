#!/usr/bin/env python3
"""Random ONNX graphs of 4 to 14 nodes: compares this program's outputs with ONNX Runtime's, for batches of 1 and 3.

    onnx_random.py CORTADO [--first=SEED] [--count=N] [--keep=FOLDER]

A graph that is refused with a message counts as refused, and one with another result as wrong; --keep=FOLDER keeps
both kinds.
"""
import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

NEAR = 1e-4
BATCHES = 1, 3


class Graph:
    """A graph under construction. Values are lists of extents whose first is the batch, written as None."""

    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), numpy.random.RandomState(seed)
        self.nodes, self.constants, self.values, self.unread = [], [], {'x': self.shape()}, set()

    def shape(self):
        pick = self.draw.choice
        return [None, pick([1, 2, 3, 4, 6]), pick([4, 5, 7, 8, 9]), pick([4, 6, 7, 8])]

    def constant(self, values, kind='f4'):
        name = 'c%d' % len(self.constants)
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, kind), name))
        return name

    def floats(self, *shape, scale=1.0):
        return self.constant(self.numbers.normal(0, scale, shape))

    def ints(self, *values):
        return self.constant(values, 'i8')

    def add(self, op, inputs, shape, **attributes):
        name = 'v%d' % len(self.nodes)
        self.nodes.append(helper.make_node(op, inputs, [name], name='%s_%s' % (op, name), **attributes))
        self.values[name] = list(shape)
        self.unread.difference_update(inputs)
        self.unread.add(name)
        return name

    def images(self):
        return [name for name, shape in self.values.items() if len(shape) == 4]

    def model(self):
        outputs = sorted(self.unread) or ['x']
        graph = helper.make_graph(
            self.nodes, 'random', [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['n'] + self.values['x'][1:])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8), outputs


def convolution(g, x, s):
    c, k, stride = s[1], g.draw.choice([1, 2, 3]), g.draw.choice([1, 1, 2])
    groups = g.draw.choice([d for d in (1, 2, c) if c % d == 0])
    out = groups * g.draw.choice([1, 2, 3])
    pads = [g.draw.randrange(k) for i in range(4)]
    sides = [(s[i] + pads[i - 2] + pads[i] - k) // stride + 1 for i in (2, 3)]
    if min(sides) < 1: return None
    bias = [g.floats(out)] if g.draw.random() < 0.7 else []
    return g.add('Conv', [x, g.floats(out, c // groups, k, k, scale=(c // groups * k * k) ** -0.5)] + bias,
                 [None, out] + sides, kernel_shape=[k, k], strides=[stride] * 2, pads=pads, group=groups)


def deconvolution(g, x, s):
    k, out = g.draw.choice([2, 3, 4]), g.draw.choice([1, 2, 4])
    pad = g.draw.randrange(2)
    sides = [(s[i] - 1) * 2 + k - 2 * pad for i in (2, 3)]
    if min(sides) < 1 or max(sides) > 24: return None
    return g.add('ConvTranspose', [x, g.floats(s[1], out, k, k, scale=0.3)], [None, out] + sides, kernel_shape=[k, k],
                 strides=[2, 2], pads=[pad] * 4)


def pooling(g, x, s):
    op, k, stride = g.draw.choice(['MaxPool', 'AveragePool']), g.draw.choice([2, 3]), g.draw.choice([1, 2])
    pad, ceil = g.draw.randrange(k - 1), g.draw.randrange(2)
    if min(s[2:]) + 2 * pad < k: return None
    sides = []
    for i in (2, 3):
        room = s[i] + 2 * pad - k
        n = (room + (stride - 1 if ceil else 0)) // stride + 1
        sides.append(n - 1 if ceil and (n - 1) * stride >= s[i] + pad else n)
    more = {'count_include_pad': g.draw.randrange(2)} if op == 'AveragePool' else {}
    if op == 'AveragePool' and ceil and more['count_include_pad']: return None  # programs disagree on these
    return g.add(op, [x], s[:2] + sides, kernel_shape=[k, k], strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil,
                 **more)


def activation(g, x, s):
    op = g.draw.choice(['Relu', 'LeakyRelu', 'Sigmoid', 'Tanh', 'Elu', 'Selu', 'Softplus', 'HardSigmoid', 'HardSwish',
                        'Abs', 'Neg', 'Clip', 'PRelu', 'Identity', 'Dropout'])
    more = {'Clip': lambda: [g.constant(-0.5), g.constant(0.8)], 'PRelu': lambda: [g.floats(s[1], 1, 1)]}
    return g.add(op, [x] + more.get(op, list)(), s)


def norm(g, x, s):
    if g.draw.random() < 0.3 and s[2] * s[3] > 1:
        return g.add('InstanceNormalization', [x, g.floats(s[1]), g.floats(s[1])], s, epsilon=1e-3)
    variance = g.constant(g.numbers.uniform(0.5, 2, s[1]))
    return g.add('BatchNormalization', [x, g.floats(s[1]), g.floats(s[1]), g.floats(s[1]), variance], s)


def binary(g, x, s):
    op = g.draw.choice(['Add', 'Sub', 'Mul', 'Add', 'Max', 'Min'])
    same = [name for name in g.images() if g.values[name] == s]
    kind = g.draw.randrange(4)
    if kind == 0: return g.add(op, [x, g.draw.choice(same)], s)
    if op in ('Max', 'Min'): return None
    if kind == 1: return g.add(op, g.draw.sample([x, g.constant(0.5)], 2), s)
    if kind == 2: return g.add(op, [x, g.floats(s[1], 1, 1)], s)
    mean = g.add('GlobalAveragePool', [x], [None, s[1], 1, 1])
    return g.add(op, [x, mean], s)


def concat(g, x, s):
    like = [name for name in g.images() if g.values[name][2:] == s[2:]]
    parts = [x] + [g.draw.choice(like) for i in range(g.draw.choice([1, 2]))]
    channels = sum(g.values[name][1] for name in parts)
    return g.add('Concat', parts, [None, channels] + s[2:], axis=1) if channels <= 24 else None


def cut(g, x, s):
    axis = g.draw.choice([1, 2, 3])
    first = g.draw.randrange(s[axis])
    last = g.draw.randrange(first, s[axis]) + 1
    if axis > 1 and last - first < 3: return None
    shape = s[:axis] + [last - first] + s[axis + 1:]
    return g.add('Slice', [x, g.ints(first), g.ints(last), g.ints(axis)], shape)


def pad(g, x, s):
    before, after = [g.draw.randrange(2) for i in range(2)], [g.draw.randrange(3) for i in range(2)]
    sides = [s[i + 2] + before[i] + after[i] for i in (0, 1)]
    return g.add('Pad', [x, g.ints(0, 0, *before, 0, 0, *after)], s[:2] + sides)


def transpose(g, x, s):
    order = [0] + g.draw.sample([1, 2, 3], 3)
    return g.add('Transpose', [x], [s[i] for i in order], perm=order)


def reshape(g, x, s):
    if s[1] % 2: return None
    return g.add('Reshape', [x, g.ints(0, s[1] // 2, s[2] * 2, s[3])], [None, s[1] // 2, s[2] * 2, s[3]])


def resize(g, x, s):
    if max(s[2:]) > 12: return None
    mode = g.draw.choice(['nearest', 'linear'])
    return g.add('Resize', [x, '', g.constant([1, 1, 2, 2])], s[:2] + [2 * s[2], 2 * s[3]], mode=mode,
                 coordinate_transformation_mode=g.draw.choice(['half_pixel', 'asymmetric', 'align_corners']),
                 nearest_mode=g.draw.choice(['floor', 'round_prefer_floor']))


def reduction(g, x, s):
    axes = g.draw.choice([[1], [2, 3], [3]])
    op = g.draw.choice(['ReduceMean', 'ReduceMax', 'ReduceL2'])
    return g.add(op, [x], [1 if i in axes else s[i] for i in range(4)], axes=axes, keepdims=1)


def softmax(g, x, s):
    return g.add(g.draw.choice(['Softmax', 'LogSoftmax']), [x], s, axis=g.draw.choice([1, 2, 3]))


def product(g, x, s):
    return g.add('MatMul', [x, g.floats(s[3], 5, scale=s[3] ** -0.5)], s[:3] + [5])


def classifier(g, x, s):
    count = s[1] * s[2] * s[3]
    flat = g.add('Flatten', [x], [None, count], axis=1)
    return g.add('Gemm', [flat, g.floats(6, count, scale=count ** -0.5), g.floats(6)], [None, 6], transB=1)


STEPS = [convolution, convolution, deconvolution, pooling, activation, activation, norm, binary, binary, concat, cut,
         pad, transpose, reshape, resize, reduction, softmax, product, classifier]


def build(seed):
    g = Graph(seed)
    wanted = g.draw.randrange(4, 15)
    while len(g.nodes) < wanted:
        x = g.draw.choice(g.images())
        g.draw.choice(STEPS)(g, x, g.values[x])
    return g


def compare(cortado, folder, seed):
    g = build(seed)
    model, outputs = g.model()
    path = os.path.join(folder, 'model.onnx')
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
    for batch in BATCHES:
        x = numpy.random.RandomState(seed).normal(0, 1, [batch] + g.values['x'][1:]).astype('f4')
        numpy.save(folder + '/x.npy', x)
        words = [cortado, 'infer', path, '--input=x=%s/x.npy' % folder, '--force', '--quiet']
        words += ['--output=%s=%s/y%d.npy' % (name, folder, i) for i, name in enumerate(outputs)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode not in (0, 3): return 'wrong', 'exit code %d: %s' % (done.returncode, done.stderr[-300:])
        if done.returncode: return 'refused', done.stderr.strip().splitlines()[0][-200:]
        for i, theirs in enumerate(session.run(outputs, {'x': x})):
            ours = numpy.load('%s/y%d.npy' % (folder, i))
            if ours.shape != theirs.shape: return 'wrong', '%s: %s for %s' % (outputs[i], ours.shape, theirs.shape)
            share = abs(ours - theirs).max() / max(1e-3, abs(theirs).max())
            if not share < NEAR: return 'wrong', 'batch %d, %s: %.1e' % (batch, outputs[i], share)
    return 'equal', ''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--keep')
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(3)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            outcome, text = compare(options.cortado, folder, seed)
            counts[outcome] += 1
            if outcome == 'equal': continue
            print('%d: %s: %s' % (seed, outcome, text), flush=True)
            if options.keep: shutil.copy(folder + '/model.onnx', '%s/%d.onnx' % (options.keep, seed))
    print('%d graphs: %s' % (options.count, ', '.join('%s %d' % each for each in counts.most_common())))
    sys.exit(counts['wrong'] > 0)


main()
