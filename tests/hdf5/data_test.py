"""Files written by h5py pass through HDF5Data and HDF5Output, and h5py reads them: values, order, types, packing."""
import pytest

from tests.hdf5.rows import h5py, numpy, write_rows

COPY = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: %d %s } }
layer { name: "out" type: "HDF5Output" bottom: "data" bottom: "label" hdf5_output_param { file_name: "out.h5" } }'''


@pytest.fixture
def copied(run, folder):
    """copied(batch, iterations) copies the files of list.txt, and returns the data and labels."""
    def copied(batch, iterations, more=''):
        (folder / 'net.prototxt').write_text(COPY % (batch, more))
        run('test', '--model=net.prototxt', '--iterations=%d' % iterations)
        with h5py.File('out.h5') as file:
            return file['data'][()], file['label'][()]
    return copied


def test_batches_run_over_the_ends_of_files_and_epochs(copied, folder):
    packings = [{}, dict(compression='gzip', chunks=(7, 2, 3)), dict(chunks=(1, 1, 3), shuffle=True, fletcher32=True)]
    files = [write_rows('%d.h5' % i, i, 9 + i, **packing) for i, packing in enumerate(packings)]
    (folder / 'list.txt').write_text('0.h5\n1.h5\n2.h5\n')
    data, label = (numpy.concatenate([file[k] for file in files]) for k in (0, 1))
    got_data, got_label = copied(8, 9)
    rows = numpy.arange(72) % len(label)
    assert got_data.shape == (72, 2, 3, 1) and got_label.shape == (72, 1, 1, 1)
    assert (got_data[..., 0] == data[rows]).all() and (got_label[:, 0, 0, 0] == label[rows]).all()


def test_shuffled_epochs_have_every_row_once_with_its_label(copied, folder):
    files = [write_rows('%d.h5' % i, i, 10) for i in range(3)]
    (folder / 'list.txt').write_text('0.h5\n1.h5\n2.h5\n')
    got_data, got_label = copied(10, 9, 'shuffle: true')
    label = got_label[:, 0, 0, 0].reshape(3, 30)
    everything = sorted(numpy.concatenate([file[1] for file in files]))
    orders = set()
    for epoch in label:
        assert sorted(epoch) == everything
        orders.add(tuple(epoch))
    assert len(orders) == 3
    for data, number in zip(got_data[..., 0], got_label[:, 0, 0, 0]):
        assert (data == files[int(number) // 100][0][int(number) % 100]).all()


@pytest.mark.parametrize('kind', ['<f4', '>f4', '<f8', '>f8', '<f2', 'i1', 'u1', '<i2', '>i2', '<u2', '<i4', '>i4',
                                  '<u4', '<i8', '>u8', '?'])
def test_numbers_become_the_nearest_floats(copied, folder, kind):
    (folder / 'list.txt').write_text('types.h5\n')
    values = (numpy.arange(12).reshape(6, 2) * 17 % 101).astype(kind)
    with h5py.File('types.h5', 'w') as file:
        file['data'] = values
        file['label'] = numpy.zeros((6, 1), 'i8')
    got, _ = copied(6, 1)
    assert (got[:, :, 0, 0] == values.astype('f4')).all()


def test_forms_of_files(copied, run, folder):
    """A dataset in a group as a top, user blocks before the file, the newest file format, links, an unwritten
    dataset."""
    values = numpy.arange(8, dtype='f4').reshape(4, 2)
    with h5py.File('forms.h5', 'w', userblock_size=1024, libver='latest') as file:
        file['set/data'] = values
        file['data'] = h5py.SoftLink('/set/data')
        file.create_dataset('label', (4,), 'f4')
        file['unused'] = ['text', 'text']
    (folder / 'list.txt').write_text('forms.h5')
    got, label = copied(4, 1)
    assert (got[:, :, 0, 0] == values).all() and (label == 0).all()
    (folder / 'net.prototxt').write_text((COPY % (4, '')).replace('"data"', '"set/data"'))
    run('test', '--model=net.prototxt', '--iterations=1')
    with h5py.File('out.h5') as file:
        assert (file['data'][()][:, :, 0, 0] == values).all()
