"""Weights and states in HDF5: h5py reads ours in BVLC Caffe's layout, and we read h5py's files in this layout."""
import os

import pytest

from tests.hdf5.rows import h5py, numpy

NET = '''layer { name: "in" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
  data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
layer { name: "block/one" type: "InnerProduct" bottom: "x" top: "one"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } bias_filler { value: 0.5 } } }
layer { name: "two" type: "InnerProduct" bottom: "one" top: "two"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "two" bottom: "y" top: "loss" }'''

DEPLOY = '''layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 } } }
''' + NET[NET.index('layer { name: "block'):NET.index('layer { name: "loss"')]

SOLVER = '''net: "net.prototxt" base_lr: 0.05 lr_policy: "step" gamma: 0.5 stepsize: 4 momentum: 0.9 max_iter: 10
random_seed: 1 snapshot: 5 snapshot_prefix: "s" snapshot_format: HDF5 snapshot_diff: true'''


def expected(x, weights):
    one = x @ weights['block/one/0'].T + weights['block/one/1']
    return one @ weights['two/0'].T + weights['two/1']


@pytest.fixture(scope='module')
def log(run, shared_folder):
    """The log of a training; its snapshots are in the current folder."""
    (shared_folder / 'net.prototxt').write_text(NET)
    (shared_folder / 'solver.prototxt').write_text(SOLVER)
    return run('train', '--solver=solver.prototxt').stderr


@pytest.fixture
def inferred(run, shared_folder):
    """inferred(x, 'w.h5') is the program's output for x."""
    (shared_folder / 'deploy.prototxt').write_text(DEPLOY)
    def inferred(x, weights):
        numpy.save('x.npy', x)
        run('infer', '--force', '--model=deploy.prototxt', '--weights=' + weights, '--input', 'x=x.npy', '--output',
            'two=two.npy')
        return numpy.load('two.npy')
    return inferred


def test_snapshots_are_laid_out_as_caffe_does(log, inferred):
    assert 'Snapshotting to HDF5 file s_iter_10.caffemodel.h5' in log
    assert 'Snapshotting solver state to HDF5 file s_iter_10.solverstate.h5' in log
    with h5py.File('s_iter_10.caffemodel.h5') as file:
        assert sorted(file) == ['data', 'diff']
        for group in file.values():
            assert group['block/one/0'].shape == (5, 3) and group['block/one/1'].shape == (5,)
            assert group['two']['0'].shape == (2, 5) and group['two']['0'].dtype == numpy.float32
        weights = {name: file['data'][name][()] for name in ('block/one/0', 'block/one/1', 'two/0', 'two/1')}
        assert any(file['diff'][name][()].any() for name in weights)
    with h5py.File('s_iter_10.solverstate.h5') as file:
        assert file['iter'].shape == (1,) and file['iter'][0] == 10 and file['current_step'][0] == 2
        assert file['learned_net'][()] == b's_iter_10.caffemodel.h5'
        assert [file['history/%d' % i].shape for i in range(4)] == [(5, 3), (5,), (2, 5), (2,)]
    x = numpy.random.RandomState(0).randn(4, 3).astype('f4')
    assert numpy.allclose(inferred(x, 's_iter_10.caffemodel.h5'), expected(x, weights), atol=1e-5)


@pytest.mark.parametrize('kind, options', [('f4', {}), ('f8', {}), ('f2', {}),
                                           ('f4', dict(compression='gzip', shuffle=True))])
def test_weights_of_other_programs_are_read(inferred, kind, options):
    """As H5LT writes them: float datasets in groups; doubles of a Caffe build with doubles; compressed ones of other
    programs."""
    draw = numpy.random.RandomState(2)
    x = draw.randn(4, 3).astype('f4')
    shapes = {'block/one/0': (5, 3), 'block/one/1': (5,), 'two/0': (2, 5), 'two/1': (2,)}
    weights = {name: draw.randn(*shape).astype(kind) for name, shape in shapes.items()}
    with h5py.File('theirs', 'w') as file:  # detected by content, not by name
        for name, values in weights.items():
            file.create_dataset('data/' + name, data=values, **options)
        file.create_group('data/relu')
    floats = {name: values.astype('f4') for name, values in weights.items()}
    assert numpy.allclose(inferred(x, 'theirs'), expected(x, floats), atol=1e-5)


def test_weights_of_four_axes_as_before_2015(log, inferred):
    with h5py.File('s_iter_10.caffemodel.h5') as ours, h5py.File('old.h5', 'w') as old:
        for name in ('block/one/0', 'block/one/1', 'two/0', 'two/1'):
            values = ours['data'][name][()]
            old['data/' + name] = values.reshape((1,) * (4 - values.ndim) + values.shape)
    x = numpy.ones((4, 3), 'f4')
    assert (inferred(x, 'old.h5') == inferred(x, 's_iter_10.caffemodel.h5')).all()


def test_training_goes_on_from_a_state_of_caffe(log, run, shared_folder):
    """It warns that the resume is not exact."""
    with h5py.File('s_iter_5.solverstate.h5') as ours, h5py.File('caffe.solverstate.h5', 'w') as caffe:
        for name in ('iter', 'current_step', 'history'):
            ours.copy(name, caffe)
        caffe['learned_net'] = numpy.bytes_('/elsewhere/s_iter_5.caffemodel.h5')
    (shared_folder / 'resumed.prototxt').write_text(SOLVER.replace('"s"', '"resumed"'))
    said = run('train', '--solver=resumed.prototxt', '--snapshot=caffe.solverstate.h5').stderr
    assert 'Restoring previous solver status from caffe.solverstate.h5' in said
    assert 'neither data position nor random state' in said
    assert os.path.exists('resumed_iter_10.solverstate.h5')
