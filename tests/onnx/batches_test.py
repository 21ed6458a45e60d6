"""Models exported with a batch of 1, or with an open batch, run with batches of 1 and 3: the batch and other axes of 1
are not confused. A net that supports only the model's own batch size refuses others."""
import pytest

from tests.onnx.random_weights import far, numpy, onnx

from onnx import TensorProto, helper, numpy_helper

DRAW = numpy.random.RandomState(5)
BATCHES = 1, 3
node = helper.make_node


def array(*dims):
    return DRAW.normal(0, 1, dims).astype('f4')


def ints(*values):
    return numpy.array(values, 'i8')


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def lstm(x, w, r, b):
    """Steps x directions x sequences x units, the second direction reversed; gates are i, o, f, g."""
    out = numpy.zeros((x.shape[0], w.shape[0], x.shape[1], r.shape[2]))
    for d in range(w.shape[0]):
        h = c = numpy.zeros((x.shape[1], r.shape[2]))
        for t in reversed(range(x.shape[0])) if d else range(x.shape[0]):
            gates = x[t] @ w[d].T + h @ r[d].T + b[d].reshape(2, -1).sum(0)
            i, o, f, g = numpy.split(gates, 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
            out[t, d] = h = sigmoid(o) * numpy.tanh(c)
    return out


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(x):
    """Two heads of four values each."""
    q, k, v = ((x @ m).reshape(len(x), -1, 2, 4).swapaxes(1, 2) for m in HEADS)
    return (softmax(q @ k.swapaxes(2, 3)) @ v).swapaxes(1, 2).reshape(x.shape)


def attention_nodes():
    heads = [made for m in 'qkv' for made in (
        node('MatMul', ['x', m], [m + '1']), node('Reshape', [m + '1', 's'], [m + '2']),
        node('Transpose', [m + '2'], [m + '3'], perm=[0, 2, 3, 1] if m == 'k' else [0, 2, 1, 3]))]
    return heads + [node('MatMul', ['q3', 'k3'], ['a']), node('Softmax', ['a'], ['b'], axis=-1),
                    node('MatMul', ['b', 'v3'], ['c']), node('Transpose', ['c'], ['d'], perm=[0, 2, 1, 3]),
                    node('Reshape', ['d', 't'], ['y'])]


W, R, B = array(2, 12, 4), array(2, 12, 3), array(2, 24)
LSTM = {'w': W, 'r': R, 'b': B}
BOTH = dict(hidden_size=3, direction='bidirectional')
TOKEN = array(1, 1, 4)
M, HEADS = array(4, 5), [array(8, 8) for _ in 'qkv']

# name: opset, the shape of x with N for the batch, nodes, constants, the expected result for x
CASES = {
    'lstm, both ways': (13, (5, 'N', 4), [node('LSTM', ['x', 'w', 'r', 'b'], ['y'], **BOTH)], LSTM,
                        lambda x: lstm(x, W, R, B)),
    'lstm, one step': (13, (1, 'N', 4), [node('LSTM', ['x', 'w', 'r', 'b'], ['y'], **BOTH)], LSTM,
                       lambda x: lstm(x, W, R, B)),
    'lstm, sequences first': (13, ('N', 5, 4), [node('Transpose', ['x'], ['t'], perm=[1, 0, 2]),
                                                node('LSTM', ['t', 'w', 'r', 'b'], ['u'], **BOTH),
                                                node('Transpose', ['u'], ['v'], perm=[2, 0, 1, 3]),
                                                node('Reshape', ['v', 's'], ['y'])], dict(LSTM, s=ints(1, 5, 6)),
                              lambda x: lstm(x.swapaxes(0, 1), W, R, B).transpose(2, 0, 1, 3).reshape(-1, 5, 6)),
    'lstm, last step': (13, (5, 'N', 4), [node('LSTM', ['x', 'w', 'r', 'b'], ['u'], **BOTH),
                                          node('Gather', ['u', 'p'], ['v'], axis=0),
                                          node('Transpose', ['v'], ['t'], perm=[1, 0, 2]),
                                          node('Reshape', ['t', 's'], ['y'])],
                        dict(LSTM, p=numpy.array(-1), s=ints(1, -1)),
                        lambda x: lstm(x, W, R, B)[-1].swapaxes(0, 1).reshape(x.shape[1], -1)),
    'lstm, squeezed': (13, (5, 'N', 4), [node('LSTM', ['x', 'w', 'r', 'b'], ['u'], hidden_size=3),
                                         node('Squeeze', ['u', 'p'], ['y'])],
                       {'w': W[:1], 'r': R[:1], 'b': B[:1], 'p': ints(1)},
                       lambda x: lstm(x, W[:1], R[:1], B[:1])[:, 0]),
    'lstm, states of shape': (13, ('N', 5, 4), [node('Shape', ['x'], ['s']),
                                                node('Gather', ['s', 'zero'], ['n']),
                                                node('Unsqueeze', ['n', 'p'], ['k']),
                                                node('Concat', ['two', 'k', 'h'], ['z'], axis=0),
                                                node('ConstantOfShape', ['z'], ['first']),
                                                node('Transpose', ['x'], ['t'], perm=[1, 0, 2]),
                                                node('LSTM', ['t', 'w', 'r', 'b', '', 'first', 'first'], ['y'],
                                                     **BOTH)],
                              dict(LSTM, zero=numpy.array(0), p=ints(0), two=ints(2), h=ints(3)),
                              lambda x: lstm(x.swapaxes(0, 1), W, R, B)),
    'slice of steps': (13, (5, 'N', 4), [node('Slice', ['x', 'f', 't', 'a'], ['y'])],
                       {'f': ints(1), 't': ints(3), 'a': ints(0)}, lambda x: x[1:3]),
    'slice of an axis of 1': (13, ('N', 1, 4), [node('Slice', ['x', 'f', 't', 'a'], ['y'])],
                              {'f': ints(0), 't': ints(1), 'a': ints(1)}, lambda x: x[:, :1]),
    'slice of the whole batch': (13, ('N', 2, 4), [node('Slice', ['x', 'f', 't'], ['y'])],
                                 {'f': ints(0, 1), 't': ints(2 ** 62, 2)}, lambda x: x[:, 1:2]),
    'the batch reversed': (13, ('N', 2), [node('Slice', ['x', 'f', 't', 'a', 's'], ['y'])],
                            {'f': ints(-1), 't': ints(-2 ** 62), 'a': ints(0), 's': ints(-1)}, lambda x: x[::-1]),
    'gather of steps': (13, (5, 'N', 4), [node('Gather', ['x', 'p'], ['y'], axis=0)], {'p': numpy.array(2)},
                        lambda x: x[2]),
    'gather of places': (13, ('N', 5, 1, 4), [node('Gather', ['x', 'p'], ['y'], axis=1)], {'p': numpy.array(2)},
                         lambda x: x[:, 2]),
    'gather of an axis of 1': (13, ('N', 1, 1, 4), [node('Gather', ['x', 'p'], ['y'], axis=1)], {'p': numpy.array(0)},
                               lambda x: x[:, 0]),
    'flatten from 0': (13, ('N', 2, 4), [node('Flatten', ['x'], ['y'], axis=0)], {}, lambda x: x.reshape(1, -1)),
    'flatten from 1': (13, ('N', 1, 4), [node('Flatten', ['x'], ['y'], axis=1)], {}, lambda x: x.reshape(len(x), -1)),
    'flatten from 2': (13, ('N', 2, 4), [node('Flatten', ['x'], ['y'], axis=2)], {}, lambda x: x.reshape(-1, 4)),
    'flatten from the end': (13, ('N', 4), [node('Flatten', ['x'], ['y'], axis=2)], {}, lambda x: x.reshape(-1, 1)),
    'flatten after steps': (13, (5, 'N', 4), [node('Flatten', ['x'], ['y'], axis=1)], {}, lambda x: x.reshape(5, -1)),
    'unsqueeze before the batch': (13, ('N', 4), [node('Unsqueeze', ['x', 'a'], ['y'])], {'a': ints(0)},
                                   lambda x: x[None]),
    'unsqueeze after the batch': (13, ('N', 4), [node('Unsqueeze', ['x', 'a'], ['y'])], {'a': ints(1)},
                                   lambda x: x[:, None]),
    'unsqueeze around the batch': (13, ('N', 4), [node('Unsqueeze', ['x', 'a'], ['y'])], {'a': ints(0, 2, -1)},
                                   lambda x: x[None, :, None, :, None]),
    'unsqueeze and squeeze': (13, ('N', 4), [node('Unsqueeze', ['x', 'a'], ['u']), node('Squeeze', ['u', 'a'], ['y'])],
                              {'a': ints(0)}, lambda x: x),
    'squeeze after the batch': (13, ('N', 1, 4), [node('Squeeze', ['x', 'a'], ['y'])], {'a': ints(1)},
                                 lambda x: x[:, 0]),
    'squeeze of two axes': (11, ('N', 1, 4, 1), [node('Squeeze', ['x'], ['y'], axes=[1, -1])], {},
                            lambda x: x[:, 0, :, 0]),
    'squeeze before the batch': (13, (1, 'N', 4), [node('Relu', ['x'], ['y'])], {}, lambda x: numpy.maximum(x, 0)),
    'reshape with its number': (13, ('N', 8), [node('Reshape', ['x', 's'], ['y'])], {'s': ints(1, 1, 2, 4)},
                                lambda x: x.reshape(-1, 1, 2, 4)),
    'reshape to rows': (13, ('N', 2, 4), [node('Reshape', ['x', 's'], ['y'])], {'s': ints(1, -1)},
                        lambda x: x.reshape(len(x), -1)),
    'reshape to windows and back': (13, ('N', 4, 6), [node('Reshape', ['x', 's'], ['a']), node('Relu', ['a'], ['b']),
                                                      node('Reshape', ['b', 't'], ['y'])],
                                    {'s': ints(2, 2, 6), 't': ints(1, 4, 6)}, lambda x: numpy.maximum(x, 0)),
    'heads': (13, ('N', 1, 4), [node('Reshape', ['x', 's'], ['a']), node('Transpose', ['a'], ['y'], perm=[0, 2, 1, 3])],
              {'s': ints(1, 1, 2, 2)}, lambda x: x.reshape(-1, 1, 2, 2).swapaxes(1, 2)),
    'mean of the batch': (13, ('N', 4), [node('ReduceMean', ['x'], ['m'], axes=[0]),
                                         node('Sub', ['x', 'm'], ['y'])], {},
                          lambda x: x - x.mean(0)),
    'sum of all': (13, ('N', 4), [node('ReduceSum', ['x'], ['s']), node('Mul', ['x', 's'], ['y'])], {},
                   lambda x: x * x.sum()),
    'weights of channels of 1': (13, ('N', 1, 2, 3), [node('ReduceMean', ['x'], ['m'], axes=[2, 3]),
                                                      node('Mul', ['x', 'm'], ['y'])], {},
                                 lambda x: x * x.mean((2, 3), keepdims=True)),
    'concat of one and another': (13, ('N', 1, 4), [node('Relu', ['x'], ['r']),
                                                    node('Concat', ['x', 'r'], ['c'], axis=1),
                                                    node('Gather', ['c', 'p'], ['y'], axis=1)], {'p': numpy.array(1)},
                                  lambda x: numpy.maximum(x[:, 0], 0)),
    'attention': (13, ('N', 5, 8), attention_nodes(),
                  dict(zip('qkv', HEADS), s=ints(1, 5, 2, 4), t=ints(1, 5, 8)), attention),
    'attention of one place': (13, ('N', 1, 8), attention_nodes(),
                               dict(zip('qkv', HEADS), s=ints(1, 1, 2, 4), t=ints(1, 1, 8)), attention),
    'mean of steps': (13, (5, 'N', 4), [node('ReduceMean', ['x'], ['y'], axes=[0], keepdims=0)], {},
                      lambda x: x.mean(0)),
    'largest of steps': (13, (5, 'N', 4), [node('ArgMax', ['x'], ['a'], axis=0, keepdims=0),
                                           node('Cast', ['a'], ['y'], to=TensorProto.FLOAT)], {},
                         lambda x: x.argmax(0).astype('f4')),
    'split of steps': (13, (6, 'N', 4), [node('Split', ['x'], ['a', 'b'], axis=0), node('Add', ['a', 'b'], ['y'])], {},
                       lambda x: x[:3] + x[3:]),
    'two batches in one': (13, ('N', 4), [node('Relu', ['x'], ['r']), node('Concat', ['x', 'r'], ['c'], axis=0),
                                          node('Reshape', ['c', 's'], ['y'])], {'s': ints(2, 2, 2)},
                           lambda x: numpy.concatenate([x, numpy.maximum(x, 0)]).reshape(-1, 2, 2)),
    'the batch last': (13, ('N', 1, 4), [node('Transpose', ['x'], ['t'], perm=[1, 2, 0]),
                                         node('Squeeze', ['t', 'a'], ['y'])], {'a': ints(0)}, lambda x: x[:, 0].T),
    'products of all pairs': (13, ('N', 4), [node('Transpose', ['x'], ['t'], perm=[1, 0]),
                                             node('MatMul', ['x', 't'], ['y'])], {}, lambda x: x @ x.T),
    'resized to its sizes': (13, ('N', 1, 4, 4), [node('Resize', ['x', '', '', 's'], ['y'], mode='nearest')],
                             {'s': ints(1, 1, 8, 8)}, lambda x: x.repeat(2, 2).repeat(2, 3)),
    'rows of a shape': (13, ('N', 2, 4), [node('Shape', ['x'], ['s']), node('Slice', ['s', 'f', 't'], ['n']),
                                          node('Mul', ['n', 'two'], ['m']), node('Concat', ['m', 'c'], ['k'], axis=0),
                                          node('Reshape', ['x', 'k'], ['y'])],
                        {'f': ints(0), 't': ints(1), 'two': ints(2), 'c': ints(4)}, lambda x: x.reshape(-1, 4)),
    'a token for each': (13, ('N', 2, 4), [node('Shape', ['x'], ['s']), node('Slice', ['s', 'f', 't'], ['n']),
                                           node('Concat', ['n', 'r'], ['d'], axis=0), node('Expand', ['k', 'd'], ['e']),
                                           node('Concat', ['e', 'x'], ['y'], axis=1)],
                         {'f': ints(0), 't': ints(1), 'r': ints(1, 4), 'k': TOKEN},
                         lambda x: numpy.concatenate([TOKEN.repeat(len(x), 0), x], 1)),
    'expanded': (13, ('N', 1, 4), [node('Expand', ['x', 'd'], ['y'])], {'d': ints(1, 3, 1)}, lambda x: x.repeat(3, 1)),
    'larger than the means': (13, ('N', 3, 4), [node('ReduceMean', ['x'], ['m'], axes=[0, 2]),
                                                node('Max', ['m', 'x', 'k'], ['y'])], {'k': TOKEN},
                              lambda x: numpy.maximum(numpy.maximum(x, TOKEN), x.mean((0, 2), keepdims=True))),
    'softmax of rows': (9, ('N', 1, 4), [node('Softmax', ['x'], ['y'])], {},
                        lambda x: numpy.exp(x) / numpy.exp(x).sum((1, 2), keepdims=True)),
    'matmul after an axis of 1': (13, ('N', 1, 4), [node('MatMul', ['x', 'm'], ['a']),
                                                     node('Squeeze', ['a', 'p'], ['y'])],
                                   {'m': M, 'p': ints(1)}, lambda x: x[:, 0] @ M),
}

# Constants that grow with the batch.
CASES.update({
    'a token': (13, ('N', 2, 4), [node('Concat', ['k', 'x'], ['y'], axis=1)], {'k': M[:1, None, :4]},
                lambda x: numpy.concatenate([M[:1, None, :4].repeat(len(x), 0), x], 1)),
    'a constant of its shape': (13, ('N', 2), [node('Shape', ['x'], ['s']), node('ConstantOfShape', ['s'], ['z']),
                                               node('Add', ['x', 'z'], ['y'])], {}, lambda x: x),
    'a token of its shape': (13, ('N', 2, 4), [node('Shape', ['x'], ['s']), node('Gather', ['s', 'p'], ['n'], axis=0),
                                               node('Concat', ['n', 'r'], ['t'], axis=0),
                                               node('Expand', ['k', 't'], ['e']),
                                               node('Concat', ['e', 'x'], ['y'], axis=1)],
                              {'k': M[None, :3, :4], 'p': ints(0), 'r': ints(3, 4)},
                              lambda x: numpy.concatenate([M[None, :3, :4].repeat(len(x), 0), x], 1)),
    'a token after steps': (13, (5, 'N', 4), [node('Concat', ['x', 'k'], ['y'], axis=0)], {'k': M[None, :1, :4]},
                            lambda x: numpy.concatenate([x, M[None, :1, :4].repeat(x.shape[1], 1)], 0)),
    'a token without values': (13, ('N', 2), [node('Concat', ['k', 'x'], ['y'], axis=1)], {'k': M[:1, :3]},
                               lambda x: numpy.concatenate([M[:1, :3].repeat(len(x), 0), x], 1)),
    'a constant times its shape': (13, ('N', 2), [node('Shape', ['x'], ['s']),
                                                  node('ConstantOfShape', ['s'], ['z'], value=numpy_helper.from_array(
                                                      numpy.array([2], 'f4'))),
                                                  node('Mul', ['z', 'x'], ['y'])], {}, lambda x: 2 * x),
})

OF_OPEN = {  # expected results where a 1 is the batch in a model exported with batch 1
    'reshape to rows': lambda x: x.reshape(1, -1),
    'lstm, last step': lambda x: lstm(x, W, R, B)[-1].swapaxes(0, 1).reshape(1, -1)}

OWN_BATCH_ALONE = {  # the same, for models that are not defined, or not supported, for other batch sizes
    'squeeze of the batch': (13, ('N', 4), [node('Squeeze', ['x', 'a'], ['y'])], {'a': ints(0)}, lambda x: x[0]),
    'squeeze of whatever is 1': (13, ('N', 1, 4), [node('Squeeze', ['x'], ['y'])], {}, lambda x: x[0, 0]),
    'reshape without a batch': (13, ('N', 2, 4), [node('Reshape', ['x', 's'], ['y'])], {'s': ints(2, 4)},
                                lambda x: x[0]),
    'first of the batch': (13, ('N', 4), [node('Gather', ['x', 'p'], ['y'], axis=0)], {'p': numpy.array(0)},
                           lambda x: x[0]),
    'first in a slice': (13, ('N', 4), [node('Slice', ['x', 'f', 't'], ['y'])], {'f': ints(0), 't': ints(1)},
                         lambda x: x[:1]),
    'divided by the batch': (13, ('N', 4), [node('Shape', ['x'], ['s']), node('Gather', ['s', 'p'], ['n']),
                                            node('Cast', ['n'], ['f'], to=TensorProto.FLOAT),
                                            node('Div', ['x', 'f'], ['y'])],
                             {'p': numpy.array(0)}, lambda x: x),
}


def save(path, opset, shape, nodes, constants, batch):
    x, y = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)]
            for name, dims in (('x', [batch if dim == 'N' else dim for dim in shape]), ('y', None)))
    graph = helper.make_graph(nodes, 'net', x, y, [numpy_helper.from_array(v, k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)]), path)


def drawn(shape, batch):
    return array(*[batch if dim == 'N' else dim for dim in shape])


@pytest.mark.parametrize('name', CASES)
def test_net_takes_any_batch(infer, folder, name):
    opset, shape, nodes, constants, reference = CASES[name]
    save('net.onnx', opset, shape, nodes, constants, 1)
    for batch in BATCHES:
        x = drawn(shape, batch)
        assert far(infer('net.onnx', None, {'x': x}, ['y'])[0], reference(x)) < 1e-5, batch


@pytest.mark.parametrize('name', [name for name, case in CASES.items() if case[1][0] != 1])
def test_net_of_an_open_batch_takes_any(infer, folder, name):
    opset, shape, nodes, constants, reference = CASES[name]
    save('net.onnx', opset, shape, nodes, constants, 'batch')
    reference = OF_OPEN.get(name, reference)
    for batch in BATCHES:
        x = drawn(shape, batch)
        assert far(infer('net.onnx', None, {'x': x}, ['y'])[0], reference(x)) < 1e-5, batch


def test_batch_as_large_as_other_axes(infer, folder):
    nodes = [node('Reshape', ['x', 'rows'], ['a']), node('MatMul', ['a', 'm'], ['b']),
             node('Reshape', ['b', 'back'], ['c']), node('Transpose', ['c'], ['y'], perm=[1, 0, 2])]
    m = array(16, 16)
    save('net.onnx', 13, ('N', 4, 4), nodes, {'rows': ints(4, 16), 'back': ints(4, 4, 4), 'm': m}, 4)
    for batch in 1, 4, 3:
        x = drawn(('N', 4, 4), batch)
        wanted = (x.reshape(-1, 16) @ m).reshape(-1, 4, 4).swapaxes(0, 1)
        assert far(infer('net.onnx', None, {'x': x}, ['y'])[0], wanted) < 1e-5, batch


@pytest.mark.parametrize('name', OWN_BATCH_ALONE)
def test_net_refuses_other_batches(infer, folder, name, run):
    opset, shape, nodes, constants, reference = OWN_BATCH_ALONE[name]
    save('net.onnx', opset, shape, nodes, constants, 1)
    said = run('convert', 'onnx', 'net.onnx', '-o', 'net.prototxt').stderr
    assert "takes only the model's own batch size" in said
    x = drawn(shape, 1)
    assert far(infer('net.onnx', None, {'x': x}, ['y'])[0], reference(x)) < 1e-5
    numpy.save('three.npy', drawn(shape, 3))
    for net in 'net.onnx', 'net.prototxt':
        said = run('infer', '--model=' + net, '--input=x=three.npy', '--output=y=y.npy', '--force', code=4).stderr
        assert "'x/batch_of_1' (Reshape)" in said
