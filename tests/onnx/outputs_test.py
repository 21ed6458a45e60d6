"""Every output of a model is an output of the net, and of the model that is written from it, also if other nodes read
it. No other blob becomes one."""
import pytest

from tests.onnx.random_weights import far, numpy, onnx

from onnx import TensorProto, helper, numpy_helper

node = helper.make_node
CONSTANTS = {'w': numpy.random.RandomState(1).normal(0, 1, (4, 4)).astype('f4'), 'k': numpy.array([2, 2])}
CASES = {  # nodes, outputs
    'a pyramid': ([node('Relu', ['x'], ['a']), node('MatMul', ['a', 'w'], ['b']), node('Sigmoid', ['b'], ['c']),
                   node('Add', ['c', 'a'], ['d'])], 'abcd'),
    'the last one, too': ([node('Relu', ['x'], ['a']), node('Tanh', ['a'], ['b'])], 'ba'),
    'read twice': ([node('Relu', ['x'], ['a']), node('Tanh', ['a'], ['b']), node('Add', ['a', 'b'], ['c'])], 'ac'),
    'one of several results': ([node('Split', ['x', 'k'], ['a', 'b'], axis=1), node('Tanh', ['a'], ['c']),
                                node('Add', ['b', 'c'], ['d'])], 'abd'),
    'another name': ([node('Relu', ['x'], ['a']), node('Identity', ['a'], ['b']), node('Tanh', ['b'], ['c'])], 'abc'),
    'reshaped': ([node('Relu', ['x'], ['a']), node('Transpose', ['a'], ['b'], perm=[0, 1]),
                  node('Tanh', ['b'], ['c'])], 'ac'),
    'merged layers': ([node('MatMul', ['x', 'w'], ['a']), node('Add', ['a', 'v'], ['b']), node('Sigmoid', ['b'], ['c']),
                       node('Mul', ['b', 'c'], ['d'])], 'abcd'),
    'an unread result': ([node('Split', ['x', 'k'], ['a', 'b'], axis=1), node('Tanh', ['a'], ['c'])], 'c'),
}


def outputs_of(path):
    return [each.name for each in onnx.load(path).graph.output]


@pytest.mark.parametrize('name', CASES)
def test_outputs_stay(folder, infer, name, run, summary):
    nodes, outputs = CASES[name]
    values = dict(CONSTANTS, v=numpy.array([1, 2, 3, 4], 'f4'))
    info = lambda names, dims: [helper.make_tensor_value_info(each, TensorProto.FLOAT, dims) for each in names]
    graph = helper.make_graph(nodes, 'net', info('x', ['N', 4]), info(outputs, None),
                              [numpy_helper.from_array(v, k) for k, v in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7), 'net.onnx')
    run('convert', 'onnx', 'net.onnx', '-o', 'net.prototxt')
    assert sorted(summary('net.prototxt')['outputs']) == sorted(outputs)
    weights = ['net.caffemodel'] if (folder / 'net.caffemodel').exists() else []
    run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'back.onnx')
    assert sorted(outputs_of('back.onnx')) == sorted(outputs)
    run('convert', 'onnx', 'back.onnx', '-o', 'again.prototxt')
    assert sorted(summary('again.prototxt')['outputs']) == sorted(outputs)
    x = {'x': numpy.random.RandomState(2).normal(0, 1, (3, 4)).astype('f4')}
    wanted = infer('net.onnx', None, x, list(outputs))
    again = infer('net.prototxt', *(weights or [None]), x, list(outputs))
    for got in infer('back.onnx', None, x, list(outputs)), again:
        assert all(far(a, b) < 1e-5 for a, b in zip(got, wanted))


@pytest.mark.parametrize('dialect', ('bvlc', 'ssd', 'nvcaffe'))
def test_outputs_stay_in_dialects(dialect, folder, run, summary):
    nodes, outputs = CASES['a pyramid']
    info = lambda names, dims: [helper.make_tensor_value_info(each, TensorProto.FLOAT, dims) for each in names]
    graph = helper.make_graph(nodes, 'net', info('x', ['N', 4]), info(outputs, None),
                              [numpy_helper.from_array(v, k) for k, v in CONSTANTS.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7), 'net.onnx')
    run('convert', 'onnx', 'net.onnx', '-o', 'net.prototxt', '--dialect=' + dialect)
    assert sorted(summary('net.prototxt')['outputs']) == sorted(outputs)


def test_an_input_that_is_an_output(folder, run, summary):
    """The input keeps the name."""
    info = lambda names: [helper.make_tensor_value_info(each, TensorProto.FLOAT, ['N', 4]) for each in names]
    graph = helper.make_graph([node('Relu', ['x'], ['a'])], 'net', info('x'), info('xa'))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)], ir_version=7), 'net.onnx')
    run('convert', 'onnx', 'net.onnx', '-o', 'net.prototxt')
    assert sorted(summary('net.prototxt')['outputs']) == ['a', 'x_2']
    assert 'name: "x"\n  type: "Input"\n  top: "x"' in (folder / 'net.prototxt').read_text()
