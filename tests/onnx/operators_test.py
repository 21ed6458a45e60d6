"""Single ONNX operators, in models made by Python's onnx, against NumPy's implementation of their definition: forms of
older opsets, uneven padding, broadcasting, sizes that exporters compute from shapes."""
import math, os

import pytest

from tests.onnx.random_weights import far, numpy, onnx

from onnx import TensorProto, helper, numpy_helper

X = numpy.random.RandomState(1).normal(0, 1, (2, 4, 7, 9)).astype('f4')
ROWS = numpy.random.RandomState(2).normal(0, 1, (2, 6)).astype('f4')
DRAW = numpy.random.RandomState(3)


def array(*dims):
    return DRAW.normal(0, 1, dims).astype('f4')


def ints(*values):
    return numpy.array(values, 'i8')


def windows(x, kernel, stride, before, behind, fill, dilation=1):
    """N x C x positions x window; kernel and stride are the same for both axes, the padding may differ."""
    x = numpy.pad(x, ((0, 0), (0, 0)) + tuple(zip(before, behind)), constant_values=fill)
    extent = dilation * (kernel - 1) + 1
    h, w = [(side - extent) // stride + 1 for side in x.shape[2:]]
    places = [(i * dilation, j * dilation) for i in range(kernel) for j in range(kernel)]
    return numpy.stack([x[:, :, i:i + h * stride:stride, j:j + w * stride:stride] for i, j in places], -1)


def conv(x, w, stride=1, before=(0, 0), behind=(0, 0), dilation=1):
    seen = windows(x, w.shape[2], stride, before, behind, 0, dilation)
    return numpy.einsum('nchwk,ock->nohw', seen, w.reshape(w.shape[0], w.shape[1], -1))


def max_pool(x, kernel, stride, before, behind):
    return windows(x, kernel, stride, before, behind, -numpy.inf).max(-1)


def average_pool(x, kernel, stride, before, behind, counts):
    total = windows(x, kernel, stride, before, behind, 0).sum(-1)
    number = windows(numpy.ones_like(x), kernel, stride, before, behind, float(counts)).sum(-1)
    return total / number


def linear(x, out):
    """Bilinear resizing with half pixels, one axis after the other."""
    for axis, size in ((2, out[0]), (3, out[1])):
        place = numpy.clip((numpy.arange(size) + 0.5) * x.shape[axis] / size - 0.5, 0, x.shape[axis] - 1)
        low = numpy.floor(place).astype(int)
        high, shape = numpy.minimum(low + 1, x.shape[axis] - 1), [-1 if i == axis else 1 for i in range(4)]
        share = (place - low).reshape(shape)
        x = numpy.take(x, low, axis) * (1 - share) + numpy.take(x, high, axis) * share
    return x


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x, axis):
    x = x - x.max(axis, keepdims=True).astype('f8')
    return x - numpy.log(numpy.exp(x).sum(axis, keepdims=True))


def unit(x, axis):
    """Normalizes to length 1; zeros stay zeros."""
    length = numpy.sqrt((x.astype('f8') ** 2).sum(axis, keepdims=True))
    return x / numpy.where(length > 0, length, 1)


def erf(x):
    return numpy.vectorize(math.erf)(x).astype('f4')


W3, W5, W1 = array(5, 4, 3, 3), array(6, 8), array(4, 3, 3, 3)
C, HW, ROW, M = array(4, 1, 1), array(1, 1, 7, 9), array(6), array(6, 3)
S7 = numpy.float32(0.7)
SHORT = X * numpy.array([1, 1e-7, 1e-12, 0, 1, 1, 1, 1, 1], 'f4')  # vectors shorter than any eps, and zeros
node = helper.make_node

# name: opset, x, nodes from 'x' to 'y', constants, the expected result for x
CASES = {
    'conv, uneven pads': (13, X, [node('Conv', ['x', 'w'], ['y'], pads=[0, 1, 2, 1], strides=[2, 2])], {'w': W3},
                          lambda x: conv(x, W3, 2, (0, 1), (2, 1))),
    'conv, dilated, uneven': (13, X, [node('Conv', ['x', 'w'], ['y'], pads=[2, 0, 0, 0], dilations=[2, 2])], {'w': W3},
                              lambda x: conv(x, W3, 1, (2, 0), (0, 0), 2)),
    'conv, uneven by less than its dilation': (13, X, [node('Conv', ['x', 'w'], ['y'], pads=[1, 0, 0, 3],
                                                            dilations=[2, 2])], {'w': W3},
                                               lambda x: conv(x, W3, 1, (1, 0), (0, 3), 2)),
    'conv, SAME_UPPER': (13, X, [node('Conv', ['x', 'w'], ['y'], auto_pad='SAME_UPPER', strides=[2, 2])], {'w': W3},
                         lambda x: conv(x, W3, 2, (1, 1), (1, 1))),
    'pad and conv': (13, X, [node('Pad', ['x', 'p'], ['a']), node('Conv', ['a', 'w'], ['y'])],
                     {'w': W3, 'p': ints(0, 0, 1, 0, 0, 0, 0, 1)}, lambda x: conv(x, W3, 1, (1, 0), (0, 1))),
    'pad of opset 9': (9, X, [node('Pad', ['x'], ['a'], pads=[0, 0, 1, 2, 0, 0, 1, 0]), node('Relu', ['a'], ['y'])], {},
                       lambda x: numpy.maximum(numpy.pad(x, ((0, 0), (0, 0), (1, 1), (2, 0))), 0)),
    'max pool, ceil': (13, X, [node('MaxPool', ['x'], ['y'], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)], {},
                       lambda x: max_pool(x, 2, 2, (0, 0), (1, 1))),
    'max pool, floor': (13, X, [node('MaxPool', ['x'], ['y'], kernel_shape=[2, 2], strides=[2, 2])], {},
                        lambda x: max_pool(x, 2, 2, (0, 0), (0, 0))),
    'max pool, uneven': (13, X, [node('MaxPool', ['x'], ['y'], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])],
                         {}, lambda x: max_pool(x, 3, 2, (0, 0), (1, 1))),
    'average, counting': (13, X, [node('AveragePool', ['x'], ['y'], kernel_shape=[3, 3], pads=[1, 1, 1, 1],
                                       count_include_pad=1)], {},
                          lambda x: average_pool(x, 3, 1, (1, 1), (1, 1), True)),
    'average, not counting': (13, X, [node('AveragePool', ['x'], ['y'], kernel_shape=[3, 3], strides=[2, 2],
                                           pads=[1, 1, 1, 1])], {},
                              lambda x: average_pool(x, 3, 2, (1, 1), (1, 1), False)),
    'average, uneven, counting': (13, X, [node('AveragePool', ['x'], ['y'], kernel_shape=[3, 3], pads=[0, 1, 1, 0],
                                               count_include_pad=1)], {},
                                  lambda x: average_pool(x, 3, 1, (0, 1), (1, 0), True)),
    'transposed conv': (13, X, [node('ConvTranspose', ['x', 'w'], ['y'], strides=[2, 2], pads=[1, 1, 1, 1],
                                     output_padding=[1, 1])], {'w': W1}, None),
    'clip of opset 9': (9, X, [node('Clip', ['x'], ['y'], min=-0.5, max=0.5)], {}, lambda x: numpy.clip(x, -0.5, 0.5)),
    'clip from below': (13, X, [node('Clip', ['x', 'l'], ['y'])], {'l': numpy.float32(0.2)},
                        lambda x: numpy.maximum(x, 0.2)),
    'softmax of opset 9': (9, X, [node('Softmax', ['x'], ['y'])], {},
                           lambda x: softmax(x.reshape(2, -1), 1).reshape(x.shape)),
    'softmax of opset 13': (13, X, [node('Softmax', ['x'], ['y'])], {}, lambda x: softmax(x, -1)),
    'log softmax': (13, ROWS, [node('LogSoftmax', ['x'], ['y'])], {}, lambda x: numpy.log(softmax(x, -1))),
    'log softmax of what vanishes': (13, 90 * X, [node('LogSoftmax', ['x'], ['y'], axis=1)], {},
                                     lambda x: log_softmax(x, 1)),
    'log softmax of opset 9': (9, X, [node('LogSoftmax', ['x'], ['y'], axis=2)], {},
                               lambda x: log_softmax(x.reshape(2, 4, -1), 2).reshape(x.shape)),
    'gemm': (13, ROWS, [node('Gemm', ['x', 'm', 'c'], ['y'], alpha=0.5, beta=2.0)], {'m': M, 'c': array(3)}, None),
    'matmul and add': (13, ROWS, [node('MatMul', ['x', 'm'], ['a']), node('Add', ['a', 'c'], ['y'])],
                       {'m': M, 'c': array(3)}, None),
    'a number': (13, X, [node('Sub', ['s', 'x'], ['y'])], {'s': S7}, lambda x: S7 - x),
    'a channel each': (13, X, [node('Div', ['x', 'c'], ['y'])], {'c': C}, lambda x: x / C),
    'a place each': (13, X, [node('Add', ['x', 'c'], ['y'])], {'c': HW}, lambda x: x + HW),
    'gaps': (13, X, [node('Mul', ['x', 'c'], ['y'])], {'c': HW[:, :, :, :1].repeat(4, 1)}, None),
    'column of channels': (13, X, [node('Mul', ['c', 'x'], ['y'])], {'c': numpy.full((4, 1, 9), 2, 'f4')},
                           lambda x: 2 * x),
    'squeeze and excite': (13, X, [node('GlobalAveragePool', ['x'], ['a']), node('Sigmoid', ['a'], ['b']),
                                   node('Mul', ['b', 'x'], ['y'])], {},
                           lambda x: x / (1 + numpy.exp(-x.mean((2, 3), keepdims=True)))),
    'attention of places': (13, X, [node('ReduceMean', ['x'], ['a'], axes=[1]), node('Mul', ['x', 'a'], ['y'])], {},
                            lambda x: x * x.mean(1, keepdims=True)),
    'layer norm by hand': (13, ROWS, [node('ReduceMean', ['x'], ['m'], axes=[-1]), node('Sub', ['x', 'm'], ['d']),
                                      node('Pow', ['d', 'two'], ['q']), node('ReduceMean', ['q'], ['v'], axes=[-1]),
                                      node('Add', ['v', 'e'], ['u']), node('Sqrt', ['u'], ['r']),
                                      node('Div', ['d', 'r'], ['y'])],
                           {'two': numpy.float32(2), 'e': numpy.float32(1e-5)},
                           lambda x: (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)),
    **{'gelu as ' + name: (13, X, [node('Div', ['x', 'r'], ['a']), node('Erf', ['a'], ['b']),
                                   node('Add', ['b', 'one'], ['c']), *products],
                           {'r': numpy.float32(2 ** 0.5), 'one': numpy.float32(1), 'half': numpy.float32(0.5),
                            'two': numpy.float32(2)}, lambda x: x * (1 + erf(x / 2 ** 0.5)) / 2)
       for name, products in {
           '(x c) 0.5': [node('Mul', ['x', 'c'], ['d']), node('Mul', ['d', 'half'], ['y'])],
           '(x c) / 2': [node('Mul', ['c', 'x'], ['d']), node('Div', ['d', 'two'], ['y'])],
           'x (0.5 c)': [node('Mul', ['half', 'c'], ['d']), node('Mul', ['x', 'd'], ['y'])],
           '(c / 2) x': [node('Div', ['c', 'two'], ['d']), node('Mul', ['d', 'x'], ['y'])],
           '(0.5 x) c': [node('Mul', ['half', 'x'], ['d']), node('Mul', ['d', 'c'], ['y'])],
           'c (x / 2)': [node('Div', ['x', 'two'], ['d']), node('Mul', ['c', 'd'], ['y'])]}.items()},
    'swish by hand': (13, X, [node('Sigmoid', ['x'], ['a']), node('Mul', ['x', 'a'], ['y'])], {},
                      lambda x: x / (1 + numpy.exp(-x))),
    'view(x.size(0), -1)': (13, X, [node('Shape', ['x'], ['s']), node('Gather', ['s', 'zero'], ['n'], axis=0),
                                    node('Unsqueeze', ['n', 'axes'], ['u']), node('Concat', ['u', 'm'], ['t'], axis=0),
                                    node('Reshape', ['x', 't'], ['y'])],
                            {'zero': numpy.int64(0), 'axes': ints(0), 'm': ints(-1)}, lambda x: x.reshape(2, -1)),
    'channel shuffle': (13, X, [node('Reshape', ['x', 's'], ['a']),
                                node('Transpose', ['a'], ['b'], perm=[0, 2, 1, 3, 4]),
                                node('Reshape', ['b', 't'], ['y'])],
                        {'s': ints(-1, 2, 2, 7, 9), 't': ints(-1, 4, 7, 9)},
                        lambda x: x.reshape(2, 2, 2, 7, 9).transpose(0, 2, 1, 3, 4).reshape(x.shape)),
    'slice': (13, X, [node('Slice', ['x', 's', 'e', 'a'], ['y'])],
              {'s': ints(1, -4), 'e': ints(3, 2 ** 62), 'a': ints(1, 3)}, lambda x: x[:, 1:3, :, -4:]),
    'split of opset 11': (11, X, [node('Split', ['x'], ['a', 'y'], axis=1, split=[1, 3])], {}, lambda x: x[:, 1:]),
    'squeeze of opset 11': (11, X, [node('GlobalMaxPool', ['x'], ['a']),
                                    node('Squeeze', ['a'], ['y'], axes=[2, 3])], {}, lambda x: x.max((2, 3))),
    'reduce over channels': (13, X, [node('ReduceL2', ['x'], ['y'], axes=[1], keepdims=0)], {},
                             lambda x: numpy.sqrt((x * x).sum(1))),
    'upsample of opset 9': (9, X, [node('Upsample', ['x', 's'], ['y'], mode='nearest')],
                            {'s': numpy.array([1, 1, 2, 3], 'f4')}, lambda x: x.repeat(2, 2).repeat(3, 3)),
    'resize, half pixels': (13, X, [node('Resize', ['x', '', 's'], ['y'], mode='linear')],
                            {'s': numpy.array([1, 1, 2, 2], 'f4')}, lambda x: linear(x, (14, 18))),
    'resize to a smaller size': (13, X, [node('Resize', ['x', '', '', 's'], ['y'], mode='linear')],
                                 {'s': ints(2, 4, 5, 6)}, lambda x: linear(x, (5, 6))),
    'depth to space': (13, X, [node('DepthToSpace', ['x'], ['y'], blocksize=2)], {},
                       lambda x: x.reshape(2, 2, 2, 1, 7, 9).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 14, 18)),
    'batch norm': (9, X, [node('BatchNormalization', ['x', 'g', 'b', 'm', 'v'], ['y'], epsilon=0.01)],
                   {'g': array(4), 'b': array(4), 'm': array(4), 'v': numpy.array([1, 2, 3, 4], 'f4')}, None),
    'sum over no axes': (13, X, [node('ReduceSum', ['x', 'a'], ['y'], noop_with_empty_axes=1)],
                         {'a': ints()}, lambda x: x),
    'squares over no axes': (18, X, [node('ReduceSumSquare', ['x', 'a'], ['y'], noop_with_empty_axes=1)], {'a': ints()},
                             lambda x: x * x),
    'lengths over no axes': (18, X, [node('ReduceL2', ['x'], ['y'], noop_with_empty_axes=1)], {}, abs),
    'lengths 1 over no axes': (18, X, [node('ReduceL1', ['x'], ['y'], noop_with_empty_axes=1)], {}, abs),
    'truth of fractions': (13, ROWS, [node('Cast', ['h'], ['b'], to=TensorProto.BOOL),
                                      node('Cast', ['b'], ['f'], to=TensorProto.FLOAT), node('Mul', ['x', 'f'], ['y'])],
                           {'h': numpy.array([0.5, 0, -0.25, 2, -0.0, 1e-30], 'f4')},
                           lambda x: x * numpy.array([1, 0, 1, 1, 0, 1])),
    'unit length': (13, SHORT, [node('LpNormalization', ['x'], ['y'], axis=1, p=2)], {}, lambda x: unit(x, 1)),
    'dropout': (13, ROWS, [node('Dropout', ['x', 'h', 't'], ['y'])], {'h': S7, 't': numpy.array(False)}, lambda x: x),
    'half floats': (13, ROWS, [node('Add', ['x', 'h'], ['a']), node('Identity', ['a'], ['y'])],
                    {'h': numpy.arange(6).astype('f2')}, lambda x: x + numpy.arange(6)),
}


def expected(name, x, constants):
    """The expected result of cases whose definition needs the constants."""
    if name == 'gemm':
        return 0.5 * x @ constants['m'] + 2 * constants['c']
    if name == 'matmul and add':
        return x @ constants['m'] + constants['c']
    if name == 'gaps':
        return x * constants['c']
    if name == 'batch norm':
        g, b, m, v = (constants[k].reshape(4, 1, 1) for k in 'gbmv')
        return (x - m) / numpy.sqrt(v + 0.01) * g + b
    assert name == 'transposed conv'
    w = constants['w']
    y = numpy.zeros((x.shape[0], w.shape[1], 2 * x.shape[2] + 3, 2 * x.shape[3] + 3), 'f4')
    for i in range(3):
        for j in range(3):
            y[:, :, i:i + 2 * x.shape[2]:2, j:j + 2 * x.shape[3]:2] += numpy.einsum('nchw,co->nohw', x, w[:, :, i, j])
    return y[:, :, 1:1 + 2 * x.shape[2], 1:1 + 2 * x.shape[3]]


# Biases of Gemm, of any shape that broadcasts to 6 x 6; name: shape
TERMS = {'one': (), 'one in a list': (1,), 'of columns': (6,), 'a row': (1, 6), 'a column': (6, 1), 'of all': (6, 6)}

REFUSED = {  # opset, nodes, constants, part of the message
    'dropout in training': (13, [node('Dropout', ['x', 'r', 't'], ['y'])],
                            {'r': S7, 't': numpy.array(True)}, 'training_mode is true'),
    'gemm with a bias that does not broadcast': (13, [node('Gemm', ['x', 'm', 'c'], ['y'])],
                                         {'m': array(6, 3), 'c': array(2, 3)}, 'cannot be broadcast'),
}


def save(path, opset, x, nodes, constants, batch='N'):
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
            for name, shape in (('x', [batch] + list(x.shape[1:])), ('y', None))]
    graph = helper.make_graph(nodes, 'net', *ends,
                              [numpy_helper.from_array(value, key) for key, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)]), path)


@pytest.mark.parametrize('name', CASES)
def test_operator_computes_its_definition(infer, folder, name):
    opset, x, nodes, constants, reference = CASES[name]
    save('net.onnx', opset, x, nodes, constants)
    got = infer('net.onnx', None, {'x': x}, ['y'])[0]
    assert far(got, reference(x) if reference else expected(name, x, constants)) < 1e-5


@pytest.mark.parametrize('terms', TERMS)
def test_gemm_broadcasts_its_bias(infer, folder, terms):
    x, m, c = array(6, 4), array(4, 6), numpy.asarray(array(*TERMS[terms]), 'f4')
    save('net.onnx', 13, x, [node('Gemm', ['x', 'm', 'c'], ['y'], beta=0.5)], {'m': m, 'c': c}, batch=6)
    assert far(infer('net.onnx', None, {'x': x}, ['y'])[0], x @ m + 0.5 * c) < 1e-5


@pytest.mark.parametrize('name', REFUSED)
def test_unsupported_forms_are_refused(folder, name, run):
    opset, nodes, constants, words = REFUSED[name]
    save('net.onnx', opset, ROWS, nodes, constants)
    assert words in run('convert', 'onnx', 'net.onnx', '-o', 'no.prototxt', code=3).stderr
    assert not os.path.exists('no.prototxt')
