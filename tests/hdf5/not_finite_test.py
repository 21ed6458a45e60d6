"""NaN and Inf in the data: training ends with the file and the row, and a test names them."""
import pytest

from tests.hdf5.rows import h5py, numpy

NET = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: 4 %s } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
SOLVER = 'net: "net.prototxt" base_lr: %s lr_policy: "fixed" max_iter: 40 snapshot_prefix: "snap"\n'


@pytest.fixture
def trained(run, folder):
    """trained(code, {(file, row, dataset): value}) trains on two files of 6 rows, and returns standard error."""
    def trained(code, values, layer='', rate='0.001', flags=()):
        for name in 'a.h5', 'b.h5':
            data, label = numpy.random.RandomState(1).randn(6, 3), numpy.zeros((6, 1))
            for (file, row, dataset), value in values.items():
                if file == name: (data if dataset == 'data' else label)[row, -1] = value
            with h5py.File(name, 'w') as file: file['data'], file['label'] = data, label
        (folder / 'list.txt').write_text('a.h5\nb.h5\n')
        (folder / 'net.prototxt').write_text(NET % layer)
        (folder / 'solver.prototxt').write_text(SOLVER % rate)
        return run('train', '--solver=solver.prototxt', *flags, code=code).stderr
    return trained


@pytest.mark.parametrize('layer', ['', 'shuffle: true'])
@pytest.mark.parametrize('dataset', ['data', 'label'])
@pytest.mark.parametrize('value', [numpy.nan, numpy.inf])
def test_the_hint_names_the_row(trained, layer, dataset, value):
    said = trained(7, {('b.h5', 3, dataset): value}, layer)
    assert "first in layer 'in' (HDF5Data): top '%s'" % dataset in said
    (hint,) = [line for line in said.splitlines() if line.startswith('hint: ')]
    assert 'b.h5: row 3: it contains %s' % value in hint and 'base_lr' not in hint


def test_a_rate_is_blamed_for_a_divergence(trained):
    said = trained(7, {}, rate='1e20')
    assert 'hint: a smaller base_lr or clip_gradients may help' in said


def test_a_test_names_the_row_once(trained, run):
    trained(0, {})
    with h5py.File('b.h5', 'a') as file: file['data'][2, 0] = numpy.nan
    said = run('test', '--model=net.prototxt', '--weights=snap_iter_40.caffemodel', '--iterations=6').stderr
    assert said.count("first in layer 'in' (HDF5Data): top 'data'; b.h5: row 2: it contains nan") == 1
