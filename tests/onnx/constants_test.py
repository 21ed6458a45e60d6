"""Constants of a net, DummyData and ContinuationIndicator, are constants of its models, in deploy nets and in the other
dialects, not inputs. Where samples need one each, they follow the batch."""
import re

import pytest

from tests.onnx.random_weights import draw_weights, far, numpy, onnx

X = 'layer { name: "x" type: "Input" top: "x" input_param { shape { %s } } }\n'
IMAGE = 'dim: 2 dim: 3 dim: 2 dim: 2'
DUMMY = 'layer { name: "c" type: "DummyData" top: "c" dummy_data_param { shape { %s } data_filler { %s } } }\n'
EACH = 'layer { name: "y" type: "Eltwise" bottom: "x" bottom: "c" top: "y" eltwise_param { operation: PROD } }\n'
LSTM = 'layer { name: "y" type: "LSTM" bottom: "x" bottom: "c" top: "y" recurrent_param { num_output: 3 } }\n'
STEPS = 'layer { name: "c" type: "ContinuationIndicator" top: "c" %s continuation_indicator_param { %s } }\n'
# text, and the axis of the batch that its model takes any of
NETS = {
    'one of each sample': (X % IMAGE + DUMMY % (IMAGE, 'value: 0.5') + EACH, 0),
    'zeros': (X % IMAGE + DUMMY.replace('data_filler { %s }', '') % IMAGE + EACH, 0),
    'rows of a matrix': (X % IMAGE + DUMMY % ('dim: 3 dim: 2 dim: 2', 'value: 2')
                         + 'layer { name: "y" type: "Scale" bottom: "x" bottom: "c" top: "y" }\n', 0),
    'a pattern': (X % IMAGE + DUMMY % (IMAGE, 'type: "bilinear"') + EACH, None),
    'computed in place': (X % IMAGE + DUMMY % (IMAGE, 'value: 2') + 'layer { name: "e" type: "Exp" bottom: "c" '
                          'top: "c" }\n' + EACH, 0),
    'more channels': (X % IMAGE + DUMMY % (IMAGE, 'value: 2')
                      + 'layer { name: "y" type: "Concat" bottom: "x" bottom: "c" top: "y" }\n', 0),
    'steps': (X % 'dim: 5 dim: 2 dim: 4' + STEPS % ('', 'time_step: 5 batch_size: 2') + LSTM, 1),
    'steps of a bottom': (X % 'dim: 5 dim: 2 dim: 4'
                          + 'layer { name: "p" type: "Permute" bottom: "x" top: "p" permute_param { order: 1 order: 0 '
                          'order: 2 } }\n' + STEPS % ('bottom: "x"', 'time_step: 2')
                          + LSTM.replace('"x"', '"p"'), 0),
    'steps read by others': (X % 'dim: 3 dim: 4' + STEPS % ('bottom: "x"', 'time_step: 4')
                             + 'layer { name: "t" type: "Permute" bottom: "x" top: "t" permute_param { order: 1 '
                             'order: 0 } }\nlayer { name: "y" type: "Eltwise" bottom: "t" bottom: "c" top: "y" }\n',
                             0),
}


@pytest.fixture
def check(folder, infer, run, runtime, summary):
    """check(net, axis) compares the net, its deploy net, its model and the net read back from that."""
    def check(text, axis):
        (folder / 'net.prototxt').write_text(text)
        weights = draw_weights(summary('net.prototxt'), 'net.npz')
        run('deploy', 'net.prototxt', '-o', 'deploy.prototxt', '--force')
        said = run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'net.onnx', '--force').stderr
        onnx.checker.check_model('net.onnx')
        graph = onnx.load('net.onnx').graph
        assert [each.name for each in graph.input] == ['x']
        read = {name for node in graph.node for name in node.input} | {'y'}
        assert all(read & set(node.output) for node in graph.node)
        dims = [dim.dim_param for dim in graph.input[0].type.tensor_type.shape.dim]
        assert [i for i, name in enumerate(dims) if name] == ([] if axis is None else [axis])
        assert ('batch size is fixed' in said) == (axis is None)
        own = numpy.random.RandomState(1).normal(0, 1, [int(n) for n in re.findall(r'\d+', re.search(
            'input_param .*', text)[0])]).astype('f4')
        [wanted] = infer('net.prototxt', *(weights or [None]), {'x': own}, ['y'])
        for net in 'deploy.prototxt', 'net.onnx':
            mine = weights or [None] if net == 'deploy.prototxt' else [None]
            assert far(infer(net, *mine, {'x': own}, ['y'])[0], wanted) < 1e-5, net
        for rows in (len(own), 1, 7)[:3 if axis == 0 else 1]:
            x = numpy.resize(own, (rows, *own.shape[1:]))
            if runtime and rows == len(own): assert far(runtime('net.onnx', {'x': x}, ['y'])[0], wanted) < 1e-5
            if not text.count('DummyData') or rows == len(own): continue
            alone = infer('net.onnx', None, {'x': x}, ['y'])[0]
            assert far(alone, numpy.resize(wanted, (rows, *wanted.shape[1:]))) < 1e-5, rows
            if runtime: assert far(runtime('net.onnx', {'x': x}, ['y'])[0], alone) < 1e-5
    return check


@pytest.mark.parametrize('name', NETS)
def test_constants_stay(check, name):
    check(*NETS[name])


def test_constants_of_compositions_stay(check, folder, run, summary):
    """BVLC Caffe has no ContinuationIndicator: a DummyData and a Scale."""
    (folder / 'own.prototxt').write_text(NETS['steps'][0])
    weights = draw_weights(summary('own.prototxt'), 'own.npz')
    run('deploy', 'own.prototxt', '-o', 'classic.prototxt', '--dialect=bvlc', '--weights=' + weights[0])
    text = (folder / 'classic.prototxt').read_text()
    assert 'DummyData' in text and text.count('"Input"') == 1
    run('convert', 'onnx', 'classic.prototxt', 'classic.caffemodel', '-o', 'classic.onnx')
    run('deploy', 'classic.prototxt', '-o', 'again.prototxt')
    assert [node.op_type for node in onnx.load('classic.onnx').graph.node].count('LSTM') == 1
    again = (folder / 'again.prototxt').read_text()
    assert 'DummyData' in again and again.count('"Input"') == 1


def test_rows_that_begin_elsewhere_are_refused(folder, run, summary):
    """A constant whose sequences do not begin with the pass is not a ContinuationIndicator."""
    (folder / 'net.prototxt').write_text(X % 'dim: 5 dim: 2 dim: 4' + DUMMY % ('dim: 5 dim: 2', 'value: 1') + LSTM)
    weights = draw_weights(summary('net.prototxt'), 'net.npz')
    said = run('convert', 'onnx', 'net.prototxt', *weights, '-o', 'net.onnx', code=3).stderr
    assert "'c' defines at run time where sequences begin" in said
