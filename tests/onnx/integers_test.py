"""Operators on integers either return what ONNX's integers do, or the model is refused: layers compute on floats."""
import pytest

from tests.onnx.random_weights import numpy, onnx

from onnx import TensorProto, helper, numpy_helper

A, B = numpy.array([[7, -7, 5, 2], [9, -1, 0, 4]], 'i8'), numpy.array([[2, 2, -3, 3], [4, 5, 6, -1]], 'i8')
INTS, BYTES = TensorProto.INT64, TensorProto.UINT8
REFUSED = None
# operator, options, further constants, the expected result of A (and B), or REFUSED
CASES = [
    ('Add', {}, None, A + B), ('Sub', {}, None, A - B), ('Mul', {}, None, A * B), ('Neg', {}, None, -A),
    ('Abs', {}, None, abs(A)), ('Max', {}, None, numpy.maximum(A, B)), ('Min', {}, None, numpy.minimum(A, B)),
    ('Sign', {}, None, numpy.sign(A)), ('Identity', {}, None, A),
    ('Add', {}, 3, A + 3), ('Mul', {}, 3, A * 3), ('Pow', {}, 2, A * A), ('Pow', {}, 0, A * 0 + 1),
    ('Div', {}, -1, -A), ('Div', {}, 1, A),
    ('ReduceSum', dict(keepdims=0), None, A.sum()), ('ReduceMax', dict(axes=[1], keepdims=0), None, A.max(1)),
    ('ReduceMin', dict(axes=[1], keepdims=0), None, A.min(1)), ('ReduceL1', dict(axes=[1], keepdims=0), None,
                                                                 abs(A).sum(1)),
    ('ReduceSumSquare', dict(axes=[1], keepdims=0), None, (A * A).sum(1)),
    ('Transpose', {}, None, A.T), ('ArgMax', dict(axis=1, keepdims=0), None, A.argmax(1)),
    ('Div', {}, 2, REFUSED), ('Div', {}, None, REFUSED), ('Pow', {}, -1, REFUSED), ('Pow', {}, 0.5, REFUSED),
    ('ReduceMean', dict(axes=[1]), None, REFUSED), ('Mean', {}, None, REFUSED), ('ReduceL2', dict(axes=[1]), None,
                                                                                REFUSED),
    ('ReduceLogSum', dict(axes=[1]), None, REFUSED), ('ReduceLogSumExp', dict(axes=[1]), None, REFUSED),
    ('Mod', {}, 3, REFUSED), ('Mod', {}, None, REFUSED), ('Sqrt', {}, None, REFUSED), ('Exp', {}, None, REFUSED),
    ('Sigmoid', {}, None, REFUSED), ('Softmax', {}, None, REFUSED),
]
TWO = 'Add', 'Sub', 'Mul', 'Max', 'Min', 'Div', 'Mean', 'Mod'


def save(nodes, inputs, constants, kind=INTS, opset=13):
    graph = helper.make_graph(nodes, 'net', [helper.make_tensor_value_info(name, kind, ['N', 4]) for name in inputs],
                              [helper.make_tensor_value_info('y', kind, None)],
                              [numpy_helper.from_array(numpy.array(v), k) for k, v in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=7), 'net.onnx')


@pytest.mark.parametrize('op, options, constant, expected', CASES,
                         ids=['%s %s' % (case[0], case[2]) for case in CASES])
def test_operators(folder, infer, run, op, options, constant, expected):
    inputs = ['a', 'b'] if op in TWO and constant is None else ['a']
    constants = {} if constant is None else {'c': constant}
    save([helper.make_node(op, inputs + list(constants), ['y'], **options)], inputs, constants)
    if expected is REFUSED:
        said = run('convert', 'onnx', 'net.onnx', '-o', 'net.prototxt', code=3).stderr
        if op != 'Mod': assert "(%s): it computes on integers, but layers compute on floats" % op in said
        return
    x = dict(zip(inputs, (A.astype('f4'), B.astype('f4'))))
    assert (infer('net.onnx', None, x, ['y'])[0] == expected).all()


@pytest.mark.parametrize('op', ('Add', 'Sub', 'Mul'))
def test_bytes_wrap(folder, op, run):
    save([helper.make_node(op, ['a', 'c'], ['y'])], ['a'], {'c': numpy.array(9, 'u1')}, BYTES, 14)
    assert 'it computes on integers' in run('convert', 'onnx', 'net.onnx', '-o', 'net.prototxt', code=3).stderr


def test_integers_of_nodes(folder, run):
    """Not only inputs: places, shapes and casts are integers, and so is what is computed from them."""
    node = helper.make_node
    for nodes in ([node('ArgMax', ['a'], ['p'], axis=1), node('Div', ['p', 'c'], ['y'])],
                  [node('Transpose', ['a'], ['t']), node('Mul', ['t', 'c'], ['m']), node('Div', ['m', 'c'], ['y'])]):
        save(nodes, ['a'], {'c': numpy.array(2)})
        assert 'it computes on integers' in run('convert', 'onnx', 'net.onnx', '-o', 'n.prototxt', code=3).stderr
    floats = [node('Cast', ['a'], ['f'], to=TensorProto.FLOAT), node('Div', ['f', 'c'], ['y'])]
    save(floats, ['a'], {'c': numpy.array(2, 'f4')})
    run('convert', 'onnx', 'net.onnx', '-o', 'n.prototxt')


@pytest.mark.parametrize('op, a, b, expected', (
    ('Div', 7, 2, 3), ('Div', -7, 2, -3), ('Mod', -7, 3, 2), ('Pow', 3, 2, 9), ('Pow', 10, -1, 0), ('Pow', 2, 1.5, 2)))
def test_constants_are_folded_as_integers(infer, folder, op, a, b, expected):
    """The quotient by 2 shows a fraction that was kept."""
    nodes = [helper.make_node(op, ['p', 'q'], ['r']), helper.make_node('Mul', ['r', 'three'], ['s']),
             helper.make_node('Div', ['s', 'two'], ['t']), helper.make_node('Add', ['a', 't'], ['y'])]
    save(nodes, ['a'], {'p': numpy.array(a), 'q': numpy.array(b), 'two': numpy.array(2), 'three': numpy.array(3)})
    got = infer('net.onnx', None, {'a': numpy.zeros((1, 4), 'f4')}, ['y'])[0]
    assert (got == int(expected * 3 / 2)).all()


def test_remainders_and_bounds(infer, folder):
    nodes = [helper.make_node('Mod', ['p', 'q'], ['r'], fmod=1), helper.make_node('Clip', ['big', '', 'most'], ['s']),
             helper.make_node('Sub', ['s', 'most'], ['t']), helper.make_node('Sum', ['a', 'r', 't'], ['y'])]
    save(nodes, ['a'], {'p': numpy.array(-7), 'q': numpy.array(3), 'big': numpy.array(2 ** 40),
                        'most': numpy.array(2 ** 24 + 1)})
    assert (infer('net.onnx', None, {'a': numpy.zeros((1, 4), 'f4')}, ['y'])[0] == -1).all()
