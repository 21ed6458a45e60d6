"""Truncated, randomly changed, and well-formed but invalid models: each is an error with an exit code, or a net.
Nothing crashes, hangs, or allocates memory for sizes that a file only declares."""
import pathlib, random, resource, subprocess

import pytest

from tests.onnx.random_weights import numpy  # skips without onnx
from onnx import TensorProto, helper, numpy_helper

MOST_MEMORY = 4096 << 10  # KiB
MOST_SECONDS = 20


def model(nodes, constants=(), opset=13, shape=('N', 3, 8, 8), outputs=('y',)):
    graph = helper.make_graph(nodes, 'net', [helper.make_tensor_value_info('x', TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])


def conv(tensor):
    return model([helper.make_node('Conv', ['x', tensor.name], ['y'], name='first')], [tensor])


def tensor(dims, raw=b'', kind=TensorProto.FLOAT):
    out = TensorProto(name='w', data_type=kind, raw_data=raw)
    out.dims.extend(dims)
    return out


def external(location, **more):
    out = tensor([4, 3, 3, 3])
    out.data_location = TensorProto.EXTERNAL
    for key, value in dict(location=location, **more).items():
        out.external_data.add(key=key, value=str(value))
    return out


def ints(name, *values):
    return numpy_helper.from_array(numpy.array(values, 'i8'), name)


def no_good():
    """Yields (model, exit code, part of the message)."""
    node = helper.make_node
    w = numpy_helper.from_array(numpy.zeros((4, 3, 3, 3), 'f4'), 'w')
    yield conv(tensor([10 ** 6, 10 ** 6, 1, 1], b'1234')), 3, "tensor 'w': it holds 1 values"
    yield conv(tensor([2 ** 62, 2 ** 62, 1, 1], b'1234')), 3, "tensor 'w'"
    yield conv(tensor([-4, 3, 3, 3], bytes(432))), 3, 'negative'
    yield conv(tensor([4, 3, 3, 3], bytes(431))), 3, 'holds'
    yield conv(tensor([4, 3, 3, 3], bytes(432), TensorProto.STRING)), 3, 'type 8'
    yield conv(external('/etc/passwd', length=432)), 3, "outside of the model's folder"
    yield conv(external('../secret', length=432)), 3, "outside of the model's folder"
    yield conv(external('inside/../../secret', length=432)), 3, "outside of the model's folder"
    yield conv(external('link', length=432)), 3, "outside of the model's folder"
    yield conv(external('folder_link/secret', length=432)), 3, "outside of the model's folder"
    yield conv(external('values', length=10 ** 15)), 3, 'exceeds the end'
    yield conv(external('values', offset=10 ** 15)), 3, 'exceeds the end'
    yield conv(external('values', offset=-8)), 3, 'exceeds the end'
    yield conv(external('not there')), 5, 'cannot be read'
    yield model([node('NonZero', ['x'], ['y'], name='odd')]), 3, "node 'odd' (NonZero)"
    yield model([node('Relu', ['x'], ['y'], name='far', domain='com.else')]), 3, "node 'far' (com.else.Relu)"
    yield model([node('Relu', ['z'], ['y'], name='first')]), 3, "no node before it produces its input 'z'"
    yield model([node('Relu', ['x'], ['z'])]), 3, "no node produces the output 'y'"
    yield model([node('Conv', ['x', 'x'], ['y'], name='first')]), 3, 'must be constant'
    yield model([node('Relu', ['x'], ['y'])], opset=8), 3, 'opset 8'
    yield model([node('Relu', ['x'], ['y'])], opset=99), 3, 'opset 99'
    yield model([node('Relu', ['x'], ['y'])], shape=('N', 3, 'H', 'W')), 3, 'axis 2 has no fixed extent'
    yield model([node('Relu', ['x'], ['y'])], shape=(2 ** 40, 2 ** 40, 2 ** 40)), 3, "input 'x'"
    yield model([node('Relu', [], ['y'])]), 3, 'input 0 is missing'
    yield model([node('MaxPool', ['x'], ['y'], kernel_shape=[2, 2], strides=[0, 1])]), 3, 'strides of 0'
    yield model([node('MaxPool', ['x'], ['y'], kernel_shape=[2])]), 3, 'axes'
    yield model([node('Conv', ['x', 'w'], ['y'], group=0)], [w]), 3, 'group'
    yield model([node('Conv', ['x', 'w'], ['y'], group=-1)], [w]), 3, 'group'
    yield model([node('Conv', ['x', 'w'], ['y'], pads=[0, 0, 2 ** 30, 0])], [w]), 3, 'padding of'
    yield model([node('Concat', ['x'] * 2, ['y'], axis=9)]), 3, 'axis 9'
    yield model([node('Transpose', ['x'], ['y'], perm=[0, 0, 0, 0])]), 3, 'Transpose'
    yield model([node('Split', ['x'], ['y', 'z'], axis=1, split=[-5, 8])], opset=11), 3, 'a part of'
    yield model([node('Reshape', ['x', 's'], ['y'])], [ints('s', -1, -1)]), 3, 'Reshape'
    yield model([node('Tile', ['x', 's'], ['y'])], [ints('s', 1, 2 ** 60, 1, 1)]), 3, 'repeats'
    add = node('Add', ['x', 'c'], ['y'])
    yield model([node('ConstantOfShape', ['s'], ['c']), add], [ints('s', 2 ** 40)]), 3, 'too large'
    yield model([node('Expand', ['s', 's'], ['c']), add], [ints('s', 2 ** 30, 2 ** 30)]), 3, 'Expand'
    one, many = (numpy_helper.from_array(numpy.int64(value), name) for name, value in (('a', 1), ('b', 2 ** 50)))
    yield model([node('Range', ['a', 'b', 'a'], ['c']), add], [one, many]), 3, 'a range'
    yield model([node('Resize', ['x', '', 's'], ['y'])],
                [numpy_helper.from_array(numpy.array([1, 1, 1e30, numpy.nan], 'f4'), 's')]), 3, 'output extent'


def deep():
    """Deeply nested graphs."""
    inner = helper.make_graph([helper.make_node('Relu', ['x'], ['y'])], 'g', [], [])
    for _ in range(60):
        inner = helper.make_graph([helper.make_node('If', ['x'], ['y'], then_branch=inner)], 'g', [], [])
    return model([helper.make_node('If', ['x'], ['y'], then_branch=inner, name='deep')])


def many_of_nothing():
    """Ten million empty nodes in twenty megabytes, which would be gigabytes when parsed."""
    whole = model([helper.make_node('Relu', ['x'], ['y'])])
    graph = whole.graph.SerializeToString() + b'\x0a\x00' * (10 << 20)
    del whole.graph.node[:]
    head = whole.SerializeToString()

    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    return head + b'\x3a' + varint(len(graph)) + graph


def most_memory():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


@pytest.fixture
def read(cortado, folder, monkeypatch):
    """read(model, 3, 'words') converts the model, in a folder with links to a file outside of it."""
    (folder / 'home/folder').mkdir(parents=True)
    (folder / 'secret').write_bytes(bytes(432))
    (folder / 'home/values').write_bytes(bytes(432))
    (folder / 'home/link').symlink_to('../secret')
    (folder / 'home/folder_link').symlink_to('..')
    monkeypatch.chdir(folder / 'home')
    def read(content, code=None, word=''):
        pathlib.Path('net.onnx').write_bytes(content if type(content) is bytes else content.SerializeToString())
        before = most_memory()
        done = subprocess.run([cortado, 'convert', 'onnx', 'net.onnx', '-o', 'net.prototxt', '--force'],
                              capture_output=True, text=True, timeout=MOST_SECONDS)
        assert done.returncode in ((0, 3, 5) if code is None else (code,)), done.stderr[-1500:]
        assert done.returncode == 0 or 'error: ' in done.stderr
        assert word in done.stderr
        assert most_memory() == before or most_memory() < MOST_MEMORY
        return done.returncode
    return read


def test_external_values_are_read(read):
    read(conv(external('values', length=432)), 0)


@pytest.mark.parametrize('bad, code, word', no_good())
def test_invalid_model_is_refused(read, bad, code, word):
    read(bad, code, word)


def test_nested_graphs_are_refused(read):
    read(deep(), 3)


def test_millions_of_empty_nodes(read):
    read(many_of_nothing())


def test_changed_model_is_read_or_refused(read, request, seed):
    rounds, draw = request.config.getoption('--rounds') or 80, random.Random(seed)
    whole = model([helper.make_node('Conv', ['x', 'w'], ['a'], pads=[1, 1, 1, 1]),
                   helper.make_node('Relu', ['a'], ['b']),
                   helper.make_node('Reshape', ['b', 's'], ['c']), helper.make_node('Gemm', ['c', 'm'], ['y'])],
                  [numpy_helper.from_array(numpy.ones((4, 3, 3, 3), 'f4'), 'w'), ints('s', 0, -1),
                   numpy_helper.from_array(numpy.ones((256, 3), 'f4'), 'm')]).SerializeToString()
    read(whole, 0)
    refused = 0
    for number in range(rounds):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 2, 8))):
            content[draw.choice((draw.randrange(200), draw.randrange(len(content))))] = draw.randrange(256)
        refused += read(bytes(content[:draw.randrange(len(content))]) if number % 4 == 0 else bytes(content)) != 0
    assert refused >= rounds // 4 - 1
