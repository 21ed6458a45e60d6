"""ONNX operators that several layers compute, in models with an open batch, against NumPy's implementation of their
definition: selections, broadcasting, comparisons, reductions, paddings, poolings, norms, recurrences."""
import pytest

from tests.onnx.operators_test import array, ints, node, save
from tests.onnx.random_weights import far, numpy

INF, NAN = numpy.inf, numpy.nan
SEQUENCE, IMAGE, VOLUME, ROW = (4, 9), (4, 7, 9), (2, 4, 5, 6), (6,)
M34, C4, K = array(3, 4), array(4, 1, 1), array(3, 7, 9)
W1, WT, BIAS = array(5, 4, 3), array(4, 3, 3, 3), array(3)
P4 = numpy.array([2, 3, 2, 0.5], 'f4').reshape(4, 1, 1) * numpy.ones((4, 7, 9), 'f4')
GW, GR, GB = array(2, 9, 6), array(2, 9, 3), array(2, 18)
CONDITION = array(4, 7, 1) > 0


def pad(x, *around, **how):
    return numpy.pad(x, ((0, 0),) + around, **how)


def pool_1d(x, kernel, stride, dilation, fill):
    """N x C x windows x kernel, without padding at the ends."""
    count = (x.shape[2] - dilation * (kernel - 1) - 1) // stride + 1
    starts = range(0, kernel * dilation, dilation)
    return numpy.stack([x[:, :, start:start + (count - 1) * stride + 1:stride] for start in starts], -1)


def conv_1d(x, w):
    return numpy.einsum('nclk,ock->nol', pool_1d(x, w.shape[2], 1, 1, 0), w)


def whole_transposed(x, w, stride):
    """The transposed convolution without padding."""
    h, w_ = ((side - 1) * stride + w.shape[2] for side in x.shape[2:])
    y = numpy.zeros((len(x), w.shape[1], h, w_), 'f4')
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            y[:, :, i:i + (x.shape[2] - 1) * stride + 1:stride, j:j + (x.shape[3] - 1) * stride + 1:stride] += \
                numpy.einsum('nchw,co->nohw', x, w[:, :, i, j])
    return y


def uneven_transposed(x):
    y = whole_transposed(x, WT, 2)[:, :, 0:-1, 2:]
    return y + BIAS.reshape(3, 1, 1)


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def gru(x, backwards, d, product_first):
    h = numpy.zeros((x.shape[1], 3))
    out = numpy.zeros((x.shape[0],) + h.shape)
    for t in reversed(range(x.shape[0])) if backwards else range(x.shape[0]):
        of_x, of_h = x[t] @ GW[d].T + GB[d, :9], h @ GR[d].T + GB[d, 9:]
        z, r = (sigmoid(of_x[:, i:i + 3] + of_h[:, i:i + 3]) for i in (0, 3))
        reset = r * of_h[:, 6:] if product_first else (r * h) @ GR[d, 6:].T + GB[d, 15:]
        n = numpy.tanh(of_x[:, 6:] + reset)
        out[t] = h = (1 - z) * n + z * h
    return out


def both_ways(x, product_first):
    x = x.swapaxes(0, 1)
    return numpy.stack([gru(x, False, 0, product_first), gru(x, True, 1, product_first)], 1)


def rnn(x):
    h = numpy.zeros((len(x), 3))
    for t in range(x.shape[1]):
        h = numpy.tanh(x[:, t] @ GW[0, :3].T + h @ GR[0, :3].T)
    return h[None]


def last_cell(x):
    """Y_c of an LSTM with gates i, o, f, g, from a constant initial state."""
    h, c = (numpy.full((len(x), 2), value) for value in (0.5, -0.25))
    for t in range(x.shape[1]):
        i, o, f, g = numpy.split(x[:, t] @ LW[0].T + h @ LR[0].T, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        h = sigmoid(o) * numpy.tanh(c)
    return c[None]


def spread(x, m, v):
    return (x - x.mean(m, keepdims=True)) / (x.std(m, keepdims=True) + v)


LW, LR = array(1, 8, 6), array(1, 8, 2)
SWITCHED = [node('Transpose', ['x'], ['t'], perm=[1, 0, 2])]
STATE = [node('Slice', ['t', 'f', 'e', 'ax'], ['s']), node('Mul', ['s', 'none'], ['zero']),
         node('Add', ['zero', 'h'], ['h0']), node('Add', ['zero', 'c'], ['c0'])]

# name: opset, the shape of x after the batch, nodes, constants, the expected result for x
CASES = {
    'every second': (13, IMAGE, [node('Slice', ['x', 'f', 't', 'a', 's'], ['y'])],
                     {'f': ints(0), 't': ints(9), 'a': ints(3), 's': ints(2)}, lambda x: x[..., ::2]),
    'backwards by three': (13, IMAGE, [node('Slice', ['x', 'f', 't', 'a', 's'], ['y'])],
                           {'f': ints(-2), 't': ints(-100), 'a': ints(2), 's': ints(-3)}, lambda x: x[:, :, -2::-3]),
    'many places': (13, (40, 3), [node('Slice', ['x', 'f', 't', 'a', 's'], ['y'])],
                    {'f': ints(1), 't': ints(40), 'a': ints(1), 's': ints(2)}, lambda x: x[:, 1::2]),
    'RGB to BGR': (13, (3, 5, 6), [node('Gather', ['x', 'i'], ['y'], axis=1)], {'i': ints(2, 1, 0)},
                   lambda x: x[:, ::-1]),
    'gather of a table of places': (13, IMAGE, [node('Gather', ['x', 'i'], ['y'], axis=3)],
                                    {'i': numpy.array([[3, -1, 0], [8, 3, 2]])},
                                    lambda x: x[..., [[3, -1, 0], [8, 3, 2]]]),
    'both operands broadcast': (13, (4, 1, 9), [node('Mul', ['x', 'k'], ['y'])], {'k': array(7, 1)}, None),
    'blobs broadcast both ways': (13, (4, 5), [node('ReduceMean', ['x'], ['a'], axes=[2]),
                                               node('ReduceMax', ['x'], ['b'], axes=[1]),
                                               node('Sub', ['a', 'b'], ['y'])], {},
                                  lambda x: x.mean(2, keepdims=True) - x.max(1, keepdims=True)),
    'a blob and a row': (13, (4, 1), [node('Max', ['x', 'k'], ['y'])], {'k': numpy.arange(3).astype('f4')},
                         lambda x: numpy.maximum(x, numpy.arange(3))),
    'minimum of three': (13, IMAGE, [node('ReduceMean', ['x'], ['m'], axes=[1]), node('Min', ['x', 'm', 'c'], ['y'])],
                         {'c': C4}, lambda x: numpy.minimum(numpy.minimum(x, x.mean(1, keepdims=True)), C4)),
    'mean of two': (13, IMAGE, [node('Mean', ['x', 'c'], ['y'])], {'c': C4}, lambda x: (x + C4) / 2),
    'several exponents': (13, IMAGE, [node('Abs', ['x'], ['a']), node('Pow', ['a', 'p'], ['y'])], {'p': P4},
                          lambda x: abs(x) ** P4),
    'largest over channels': (13, IMAGE, [node('ReduceMax', ['x'], ['y'], axes=[1], keepdims=0)], {},
                         lambda x: x.max(1)),
    'smallest over two axes': (13, IMAGE, [node('ReduceMin', ['x'], ['y'], axes=[1, 3])], {},
                               lambda x: x.min((1, 3), keepdims=True)),
    'product': (13, SEQUENCE, [node('ReduceProd', ['x'], ['y'], axes=[1], keepdims=0)], {}, lambda x: x.prod(1)),
    'log of sums of powers': (13, SEQUENCE, [node('Mul', ['x', 's'], ['a']),
                                             node('ReduceLogSumExp', ['a'], ['y'], axes=[2])],
                              {'s': numpy.float32(200)},
                              lambda x: numpy.logaddexp.reduce(200. * x, 2, keepdims=True)),
    'log of sums': (13, SEQUENCE, [node('Abs', ['x'], ['a']), node('ReduceLogSum', ['a'], ['y'], axes=[1])], {},
                    lambda x: numpy.log(abs(x).sum(1, keepdims=True))),
    'the first largest': (13, SEQUENCE, [node('Greater', ['x', 'zero'], ['a']), node('Cast', ['a'], ['f'], to=1),
                                         node('ArgMax', ['f'], ['i'], axis=2), node('Cast', ['i'], ['y'], to=1)],
                          {'zero': numpy.float32(0)}, lambda x: (x > 0).argmax(2)[..., None]),
    'the last smallest': (13, SEQUENCE, [node('Greater', ['x', 'zero'], ['a']), node('Cast', ['a'], ['f'], to=1),
                                         node('ArgMin', ['f'], ['i'], axis=2, select_last_index=1, keepdims=0),
                                         node('Cast', ['i'], ['y'], to=1)],
                          {'zero': numpy.float32(0)}, lambda x: 8 - (x > 0)[..., ::-1].argmin(2)),
    'reflected': (13, IMAGE, [node('Pad', ['x', 'p'], ['y'], mode='reflect')], {'p': ints(0, 0, 2, 1, 0, 0, 3, 0)},
                  lambda x: pad(x, (0, 0), (2, 3), (1, 0), mode='reflect')),
    'repeated at edges': (13, IMAGE, [node('Pad', ['x', 'p'], ['y'], mode='edge')], {'p': ints(0, 1, 2, 0, 0, 0, 3, 9)},
                          lambda x: pad(x, (1, 0), (2, 3), (0, 9), mode='edge')),
    'wrapped': (19, SEQUENCE, [node('Pad', ['x', 'p', '', 'a'], ['y'], mode='wrap')], {'p': ints(3, 8), 'a': ints(-1)},
                lambda x: pad(x, (0, 0), (3, 8), mode='wrap')),
    'padded by a value': (18, IMAGE, [node('Pad', ['x', 'p', 'v', 'a'], ['y'])],
                          {'p': ints(1, 2, 0, -3), 'v': numpy.float32(0.5), 'a': ints(1, 3)},
                          lambda x: pad(x, (1, 0), (0, 0), (2, 0), constant_values=0.5)[..., :-3]),
    'padded sequence': (13, SEQUENCE, [node('Pad', ['x', 'p'], ['a']), node('Relu', ['a'], ['y'])],
                        {'p': ints(0, 0, 1, 0, 0, 2)}, lambda x: numpy.maximum(pad(x, (0, 0), (1, 2)), 0)),
    'conv of sequences': (13, SEQUENCE, [node('Conv', ['x', 'w'], ['y'], pads=[2, 1])], {'w': W1},
                          lambda x: conv_1d(pad(x, (0, 0), (2, 1)), W1)),
    'max pool of sequences': (13, SEQUENCE, [node('MaxPool', ['x'], ['y'], kernel_shape=[3], strides=[2])], {},
                              lambda x: pool_1d(x, 3, 2, 1, 0).max(-1)),
    'dilated max pool': (13, SEQUENCE, [node('MaxPool', ['x'], ['y'], kernel_shape=[3], dilations=[2], pads=[2, 1])],
                         {},
                         lambda x: pool_1d(pad(x, (0, 0), (2, 1), constant_values=-INF), 3, 1, 2, 0).max(-1)),
    'dilated average': (19, SEQUENCE, [node('AveragePool', ['x'], ['y'], kernel_shape=[3], dilations=[2], pads=[2, 1])],
                        {}, lambda x: pool_1d(pad(x, (0, 0), (2, 1)), 3, 1, 2, 0).sum(-1) /
                        pool_1d(pad(numpy.ones_like(x), (0, 0), (2, 1)), 3, 1, 2, 0).sum(-1)),
    'global average of volumes': (13, VOLUME, [node('GlobalAveragePool', ['x'], ['y'])], {},
                                  lambda x: x.mean((2, 3, 4), keepdims=True)),
    'uneven transposed conv': (13, IMAGE, [node('ConvTranspose', ['x', 'w', 'b'], ['y'], strides=[2, 2],
                                                pads=[0, 2, 1, 0])], {'w': WT, 'b': BIAS}, uneven_transposed),
    'transposed conv of a shape': (13, IMAGE, [node('ConvTranspose', ['x', 'w'], ['y'], strides=[2, 2],
                                                    output_shape=[14, 18], auto_pad='SAME_UPPER')], {'w': WT},
                                   lambda x: whole_transposed(x, WT, 2)[:, :, :14, :18]),
    'at least a number': (16, ROW, [node('GreaterOrEqual', ['x', 'k'], ['b']), node('Cast', ['b'], ['y'], to=1)],
                          {'k': numpy.float32(0)}, lambda x: numpy.where(x >= 0, 1., 0.)),
    'less than a row': (13, ROW, [node('Less', ['x', 'k'], ['b']), node('Cast', ['b'], ['y'], to=1)],
                        {'k': numpy.array([0, 1, -1, INF, -INF, 0], 'f4')},
                        lambda x: (x < numpy.array([0, 1, -1, INF, -INF, 0])) * 1.),
    'equal or not': (13, ROW, [node('Relu', ['x'], ['r']), node('Equal', ['x', 'r'], ['e']), node('Not', ['e'], ['n']),
                               node('Cast', ['n'], ['y'], to=1)], {}, lambda x: (x < 0) * 1.),
    'chosen': (13, IMAGE, [node('Log', ['x'], ['l']), node('Where', ['k', 'x', 'l'], ['w']),
                           node('Where', ['k', 'w', 'zero'], ['y'])],
               {'k': CONDITION, 'zero': numpy.float32(0)}, lambda x: numpy.where(CONDITION, x, 0)),
    'sign': (13, ROW, [node('Sign', ['x'], ['y'])], {}, numpy.sign),
    'thresholded': (10, ROW, [node('ThresholdedRelu', ['x'], ['y'], alpha=0.5)], {},
                         lambda x: numpy.where(x > 0.5, x, 0)),
    'softsign': (13, ROW, [node('Softsign', ['x'], ['y'])], {}, lambda x: x / (1 + abs(x))),
    'celu': (13, ROW, [node('Celu', ['x'], ['y'], alpha=2.0)], {},
                         lambda x: numpy.where(x > 0, x, 2 * numpy.expm1(x / 2))),
    'swish': (24, ROW, [node('Swish', ['x'], ['y'], alpha=1.5)], {}, lambda x: x * sigmoid(1.5 * x)),
    'slopes of places': (13, IMAGE, [node('PRelu', ['x', 'k'], ['y'])], {'k': K[:1]},
                         lambda x: numpy.where(x > 0, x, x * K[:1])),
    'clip of crossed bounds': (13, ROW, [node('Clip', ['x', 'l', 'h'], ['y'])],
                               {'l': numpy.float32(1), 'h': numpy.float32(-1)}, lambda x: -numpy.ones_like(x)),
    'squares': (23, IMAGE, [node('RMSNormalization', ['x', 'k'], ['y'], epsilon=0.01)], {'k': array(9)}, None),
    'moments of each place': (13, IMAGE, [node('MeanVarianceNormalization', ['x'], ['y'], axes=[1])], {},
                              lambda x: spread(x, 1, 0)),
    'shares': (13, IMAGE, [node('LpNormalization', ['x'], ['y'], axis=3, p=1)], {},
               lambda x: x / abs(x).sum(3, keepdims=True)),
    'unit rows': (13, IMAGE, [node('LpNormalization', ['x'], ['y'])], {},
                  lambda x: x / numpy.sqrt((x * x).sum(3, keepdims=True))),
    'deviations': (17, SEQUENCE, [node('LayerNormalization', ['x', 'k'], ['', '', 'y'])], {'k': array(9)},
                   lambda x: 1 / numpy.sqrt(x.var(2, keepdims=True) + 1e-5)),
    'constant on the left': (13, (4, 5), [node('MatMul', ['m', 'x'], ['y'])], {'m': M34}, lambda x: M34 @ x),
    'vector on the right': (13, (3, 4), [node('MatMul', ['x', 'v'], ['y'])], {'v': M34[0]}, lambda x: x @ M34[0]),
    'gemm of blobs': (13, (4,), [node('Relu', ['x'], ['r']), node('Gemm', ['x', 'r', 'b'], ['y'], transA=1, alpha=0.5)],
                      {'b': M34[:, :1].T[0, :1]}, lambda x: x.T @ numpy.maximum(x, 0) / 2 + M34[0, 0]),
    'einsum of heads': (13, (3, 2, 4), [node('Relu', ['x'], ['r']),
                                        node('Einsum', ['x', 'r'], ['y'], equation='bqhd, bkhd -> bhqk')], {},
                        lambda x: numpy.einsum('bqhd,bkhd->bhqk', x, numpy.maximum(x, 0))),
    'einsum with weights': (13, (3, 4), [node('Einsum', ['m', 'x'], ['y'], equation='oc,bsc->bos')], {'m': M34},
                            lambda x: numpy.einsum('oc,bsc->bos', M34, x)),
    'gru': (13, (5, 6), SWITCHED + [node('GRU', ['t', 'w', 'r', 'b'], ['y'], hidden_size=3, direction='bidirectional')],
            {'w': GW, 'r': GR, 'b': GB}, lambda x: both_ways(x, False)),
    'gru of PyTorch': (14, (5, 6), [node('GRU', ['x', 'w', 'r', 'b'], ['y'], hidden_size=3, direction='bidirectional',
                                         linear_before_reset=1, layout=1)],
                       {'w': GW, 'r': GR, 'b': GB}, lambda x: both_ways(x, True).transpose(2, 0, 1, 3)),
    'rnn, last state': (13, (5, 6), SWITCHED + [node('RNN', ['t', 'w', 'r'], ['', 'y'], hidden_size=3)],
                        {'w': GW[:1, :3], 'r': GR[:1, :3]}, rnn),
    'lstm, last cell': (13, (5, 6), SWITCHED + STATE +
                        [node('LSTM', ['t', 'w', 'r', '', '', 'h0', 'c0'], ['', '', 'y'], hidden_size=2,
                              activations=['Sigmoid', 'Tanh', 'Tanh'])],
                        {'w': LW, 'r': LR, 'f': ints(0, 0), 'e': ints(1, 2), 'ax': ints(0, 2), 'none': numpy.float32(0),
                         'h': numpy.float32(0.5), 'c': numpy.float32(-0.25)}, last_cell),
    'resized sequence': (18, SEQUENCE, [node('Resize', ['x', '', 's'], ['y'], axes=[2], mode='nearest')],
                         {'s': numpy.array([2], 'f4')}, lambda x: x.repeat(2, 2)),
    'smoothly smaller': (18, SEQUENCE, [node('Resize', ['x', '', 's'], ['y'], axes=[1], mode='linear', antialias=1)],
                         {'s': numpy.array([0.5], 'f4')},
                         lambda x: numpy.einsum('ncl,oc->nol', x, numpy.array([[4, 3, 1, 0], [0, 1, 3, 4]]) / 8)),
    'cropped beyond the edge': (13, SEQUENCE, [node('Resize', ['x', 'r', '', 's'], ['y'], mode='linear',
                                                    coordinate_transformation_mode='tf_crop_and_resize',
                                                    extrapolation_value=3.0)],
                                {'r': numpy.array([0, 0, 0, 1, 1, 1.25], 'f4'), 's': ints(1, 4, 6)},
                                lambda x: numpy.concatenate([x[..., ::2], 0 * x[..., :1] + 3], 2)),
    'folded lists': (13, ROW, [node('CumSum', ['k', 'zero'], ['a']), node('Trilu', ['m'], ['b']),
                               node('ReduceSum', ['b', 'list'], ['c'], keepdims=0), node('Tile', ['c', 'two'], ['d']),
                               node('Max', ['a', 'd', 'k'], ['e']), node('Mul', ['x', 'e'], ['y'])],
                     {'k': numpy.arange(-3, 3).astype('f4'), 'zero': numpy.array(0), 'list': ints(0), 'two': ints(2),
                      'm': M34[:, :3]},
                     lambda x: x * numpy.maximum(numpy.maximum(numpy.arange(-3, 3).cumsum(), numpy.arange(-3, 3)),
                                                 numpy.tile(numpy.triu(M34[:, :3]).sum(0), 2))),
}


def expected(name, x, constants):
    """The expected result of cases whose definition needs the constants."""
    if name == 'both operands broadcast':
        return x * constants['k']
    assert name == 'squares'
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 0.01) * constants['k']


@pytest.mark.parametrize('name', CASES)
def test_layers_compute_the_definition(infer, folder, name):
    opset, shape, nodes, constants, reference = CASES[name]
    for batch in 1, 3:
        x = array(batch, *shape)
        save('net.onnx', opset, x, nodes, constants)
        got = infer('net.onnx', None, {'x': x}, ['y'])[0]
        assert far(got, numpy.asarray(reference(x) if reference else expected(name, x, constants))) < 1e-5, batch


def test_values_that_are_not_finite_are_copied(infer, folder):
    x = numpy.array([[1, NAN, -INF, INF, 0, 2]], 'f4')
    nodes = [node('Gather', ['x', 'i'], ['a'], axis=1), node('Pad', ['a', 'p', 'v'], ['b']),
             node('Where', ['k', 'b', 'zero'], ['y'])]
    save('net.onnx', 13, x, nodes, {'i': ints(5, 1, 3), 'p': ints(0, 1, 0, 1), 'v': numpy.float32(7),
                                    'k': numpy.array([True, False, True, True, False]), 'zero': numpy.float32(0)})
    assert str(infer('net.onnx', None, {'x': x}, ['y'])[0]) == str(numpy.array([[7, 0, NAN, INF, 0]], 'f4'))
