"""The module `caffe` that layers import, in the program and in scripts, is always our package."""
import os, shutil, subprocess, sys

import pytest

from tests.python.built_module import use_built_module

use_built_module()

MODULE = '''import sys
import caffe
import caffe.io, caffe.proto.caffe_pb2
import numpy as np
from caffe import layers as L, params as P
from caffe.coord_map import coord_map_from_to
from caffe._caffe import BlobVec, RawBlobVec, log
from caffe.python_layer import Layer

assert sys.modules['caffe'] is caffe and caffe.__file__.endswith('caffe/__init__.py')
assert Layer is caffe.Layer and caffe.Timer().ms == 0 and 'ReLU' in caffe.layer_type_list()


class Pass(caffe.Layer):
    def setup(self, bottom, top):
        n = caffe.NetSpec()
        n.data = L.Input(shape=dict(dim=[1, 1, 9, 9]))
        n.pool = L.Pooling(n.data, kernel_size=3, pool=P.Pooling.AVE)
        layer = n.to_proto().layer[1]
        assert layer.pooling_param.kernel_size == 3 and isinstance(n.to_proto(), caffe.proto.caffe_pb2.NetParameter)
        assert coord_map_from_to(n.pool, n.data) == (1, 1, 1)
        assert type(bottom) is type(top) is RawBlobVec and type(self.blobs) is BlobVec
        assert isinstance(self, caffe._caffe.Layer)
        log('setup')
        self.datum = caffe.io.array_to_datum(np.zeros((1, 2, 2), np.uint8), 3)
        caffe.set_mode_cpu()
        print('caffe is', caffe.__file__, caffe.__version__)
        %s

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = self.datum.label * bottom[0].data

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = self.datum.label * top[0].diff
'''
NET = '''layer { name: "in" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: 3 }
  data_filler { type: "constant" value: 1 } } }
layer { name: "pass" type: "Python" bottom: "x" top: "y" python_param { module: "mine" layer: "Pass" } }
layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 1 }
'''
SOLVER = ('net: "net" base_lr: 0.1 lr_policy: "fixed" max_iter: 2 display: 1 snapshot_prefix: "snap" '
          'solver_mode: CPU random_seed: 1')


@pytest.fixture
def files(folder):
    """files('more of setup()')."""
    def files(more=''):
        for name, text in (('mine.py', MODULE % more), ('net', NET), ('solver', SOLVER)):
            (folder / name).write_text(text)
    return files


def test_layer_in_the_program_has_the_package(files, helper, run, build):
    helper('libcortado_python.so')
    files()
    log = run('train', '--solver=solver').stderr
    assert 'loss = 18' in log and 'caffe is %s/python/caffe/__init__.py' % os.path.realpath(build) in log


def test_layer_in_a_script_has_the_same(files, build):
    files()
    code = ('import caffe, mine; solver = caffe.SGDSolver("solver"); solver.step(1)\n'
            'assert isinstance(solver.net.layers[1], mine.Pass) and solver.net.blobs["loss"].data == 18')
    subprocess.run([sys.executable, '-c', code], env=dict(os.environ, PYTHONPATH=build + '/python'), check=True)


@pytest.mark.parametrize('use', ['caffe.Net("net", caffe.TEST)', 'caffe.SGDSolver("solver")',
                                 'caffe.io.load_image("x.jpg")', 'import cortado; cortado.Predictor("net")'])
def test_layer_in_the_program_makes_no_nets(files, helper, run, use):
    helper('libcortado_python.so')
    files(use)
    done = run('check', 'net', code=3)
    assert 'a Python layer within the program cortado cannot use cortado.' in done.stderr


def test_layer_without_the_package(files, helper, folder, cortado, run):
    """Only the program is installed; its library has everything that layers need."""
    (folder / 'bin').mkdir()
    for path in (cortado, helper('libcortado_python.so')): shutil.copy(path, folder / 'bin')
    files()
    text = (folder / 'mine.py').read_text()
    (folder / 'mine.py').write_text('import caffe\n' + text[text.index('class Pass'):text.index('        n = ')] +
                                    '        assert caffe.TRAIN == self.phase\n        caffe.Net\n')
    done = run('check', 'net', program=str(folder / 'bin/cortado'), code=3)
    assert "the package caffe is not installed next to the program" in done.stderr and "not 'Net'" in done.stderr
