"""`cortado convert onnx --verify`, with ONNX Runtime and without: agreement, a difference, and wrong use."""
import os

import pytest

from tests.onnx.random_weights import draw_weights, numpy, onnx

NET = '''name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 12 dim: 12 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 3 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc" inner_product_param { num_output: 5 } }
'''

# A Python whose onnxruntime runs models with OpenCV, and adds ERROR to all outputs.
RUNTIME = '''#!/bin/sh
export PYTHONPATH="$(dirname "$0")/packages"
exec /usr/bin/python3 "$@"
'''
PACKAGE = '''
import cv2, numpy, onnx, os
__version__ = '9.9'
ERROR = float(os.environ.get('ERROR', '0'))
def set_default_logger_severity(level): pass
class Value:
    def __init__(self, info):
        self.name, self.type = info.name, 'tensor(float)'
        self.shape = [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
class InferenceSession:
    def __init__(self, path, providers):
        self.model, self.net = onnx.load(path), cv2.dnn.readNetFromONNX(path)
    def get_inputs(self): return [Value(info) for info in self.model.graph.input]
    def get_outputs(self): return [Value(info) for info in self.model.graph.output]
    def run(self, outputs, arrays):
        for name, array in arrays.items(): self.net.setInput(array, name)
        return [numpy.asarray(y) + ERROR for y in self.net.forward([value.name for value in self.get_outputs()])]
'''


@pytest.fixture(scope='module', autouse=True)
def net(run, shared_folder, summary):
    (shared_folder / 'net.prototxt').write_text(NET)
    draw_weights(summary('net.prototxt'), 'net.npz')
    packages = shared_folder / 'packages'
    packages.mkdir()
    (packages / 'onnxruntime.py').write_text(PACKAGE)
    (shared_folder / 'python').write_text(RUNTIME)
    os.chmod(shared_folder / 'python', 0o755)


@pytest.fixture(scope='module')
def opencv():
    pytest.importorskip('cv2')


CONVERT = 'convert', 'onnx', 'net.prototxt', 'net.npz', '-o', 'net.onnx', '--force', '--verify'


def test_agreement(run, opencv):
    said = run(*CONVERT, '--python=./python')
    assert 'ONNX Runtime 9.9 (./python)' in said.stdout
    rows = [line.split() for line in said.stdout.splitlines()]
    assert ['output', '1x3x12x12', '3x3x12x12'] in rows
    (row,) = [row for row in rows if row[0] == 'fc']
    assert all(float(share) < 1e-5 for share in row[1:]) and len(row) == 3


def test_import_is_verified(run, opencv):
    run(*CONVERT, '--python=./python')
    said = run('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', '--verify', '--python=./python', '--force')
    assert 'fc' in said.stdout and 'ONNX Runtime 9.9' in said.stdout


def test_output_in_place_on_an_input(run, shared_folder, opencv):
    (shared_folder / 'relu.prototxt').write_text(NET.partition('layer { name: "conv"')[0] + """
layer { name: "relu" type: "ReLU" bottom: "data" top: "data" }""")
    said = run('convert', 'onnx', 'relu.prototxt', '-o', 'relu.onnx', '--verify', '--python=./python')
    assert 'data/relu' in said.stdout


BOXES = """
layer { name: "at" type: "Input" top: "at" input_param { shape { dim: 1 dim: 16 } } }
layer { name: "score" type: "Input" top: "score" input_param { shape { dim: 1 dim: 8 } } }
layer { name: "prior" type: "Input" top: "prior" input_param { shape { dim: 1 dim: 2 dim: 16 } } }
layer { name: "boxes" type: "DetectionOutput" bottom: "at" bottom: "score" bottom: "prior" top: "boxes"
  detection_output_param { num_classes: 2 } }
"""


# Runs the net itself, and writes its boxes in reverse order.
REVERSING = """
import os, subprocess, numpy, onnx
__version__ = '9.9'
def set_default_logger_severity(level): pass
class Value:
    def __init__(self, info):
        self.name, self.type = info.name, 'tensor(float)'
        self.shape = [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
class InferenceSession:
    def __init__(self, path, providers): self.graph = onnx.load(path).graph
    def get_inputs(self): return [Value(info) for info in self.graph.input]
    def get_outputs(self): return [Value(info) for info in self.graph.output]
    def run(self, outputs, arrays):
        words = [os.environ['CORTADO'], 'infer', '--force', '--model=boxes.prototxt', '--output', 'boxes=boxes.npy']
        for name, array in arrays.items():
            numpy.save(name + '.npy', array)
            words += ['--input', '%s=%s.npy' % (name, name)]
        subprocess.check_call(words)
        boxes = numpy.load('boxes.npy')[:, :, ::-1]
        boxes[0, 0, 0, 3] += float(os.environ.get('ERROR', '0'))
        return [boxes[:, :, int(os.environ.get('LACKING', '0')):]]
"""


def test_boxes_in_another_order(folder, run, monkeypatch):
    (folder / 'boxes.prototxt').write_text(BOXES)
    (folder / 'packages').mkdir()
    (folder / 'packages/onnxruntime.py').write_text(REVERSING)
    (folder / 'python').write_text(RUNTIME)
    os.chmod('python', 0o755)
    convert = 'convert', 'onnx', 'boxes.prototxt', '-o', 'boxes.onnx', '--force', '--verify', '--python=./python'
    assert 'boxes' in run(*convert).stdout
    assert len(numpy.load('boxes.npy')[0, 0]) > 1
    with monkeypatch.context() as patch:
        patch.setenv('ERROR', '0.01')
        run(*convert, code=1)
        patch.setenv('ERROR', 'nan')
        said = run(*convert, code=1).stderr
        assert "output 'boxes' is NaN or Inf in only one of model and net" in said and 'difference' not in said
    monkeypatch.setenv('LACKING', '1')
    said = run(*convert, code=1).stderr
    rows = len(numpy.load('boxes.npy')[0, 0])
    assert "output 'boxes' has %d row%s in the model and %d rows in the net" % (
        rows - 1, '' if rows == 2 else 's', rows) in said
    assert 'inf' not in said and 'difference' not in said


def test_difference_exits_with_1(run, opencv, monkeypatch):
    monkeypatch.setenv('ERROR', '0.01')
    said = run(*CONVERT, '--python=./python', code=1)
    assert 'is above the tolerance of 1.0e-04' in said.stderr
    run(*CONVERT, '--python=./python', '--tolerance=0.9')


def test_given_inputs(run, opencv):
    numpy.save('two.npy', numpy.ones((2, 3, 12, 12), 'f4'))
    said = run(*CONVERT, '--python=./python', '--input=data=two.npy')
    assert '2x3x12x12' in said.stdout and '3x3x12x12' not in said.stdout
    assert "'other' is not an input of the net" in run(*CONVERT, '--input=other=two.npy', code=2).stderr


def test_without_runtime(run, shared_folder):
    empty = shared_folder / 'empty'
    empty.write_text('#!/bin/sh\nexit 3\n')
    os.chmod(empty, 0o755)
    assert 'this Python has no onnxruntime' in run(*CONVERT, '--python=./empty', code=2).stderr
    assert 'this Python has no onnxruntime' in run(*CONVERT, '--python=./missing', code=2).stderr


def test_wrong_use(run):
    for flag in '--tolerance=1', '--python=x', '--input=a=b.npy':
        said = run(*CONVERT[:-1], flag, code=2)
        assert 'requires --verify' in said.stderr
    assert 'cannot be combined with --like' in run(*CONVERT, '--like=net.prototxt', code=2).stderr
