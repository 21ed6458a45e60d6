#!/usr/bin/python3
"""Files that h5py wrote go through HDF5Data and HDF5Output, and h5py reads them again: values, order, types,
packing."""
from workplace import Workplace, h5py, numpy, write, write_rows

COPY = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: %d %s } }
layer { name: "out" type: "HDF5Output" bottom: "data" bottom: "label" hdf5_output_param { file_name: "out.h5" } }'''


def copied(place, batch, iterations, more=''):
    write('net.prototxt', COPY % (batch, more))
    place.succeed('test', '--model=net.prototxt', '--iterations=%d' % iterations)
    with h5py.File('out.h5') as file:
        return file['data'][()], file['label'][()]


def check_order(place):
    """Batches run over the ends of files and of epochs, whatever the files are packed with."""
    packings = [{}, dict(compression='gzip', chunks=(7, 2, 3)), dict(chunks=(1, 1, 3), shuffle=True, fletcher32=True)]
    files = [write_rows('%d.h5' % i, i, 9 + i, **packing) for i, packing in enumerate(packings)]
    write('list.txt', '0.h5\n1.h5\n2.h5\n')
    data, label = (numpy.concatenate([file[k] for file in files]) for k in (0, 1))
    got_data, got_label = copied(place, 8, 9)
    rows = numpy.arange(72) % len(label)
    assert got_data.shape == (72, 2, 3, 1) and got_label.shape == (72, 1, 1, 1)
    assert (got_data[..., 0] == data[rows]).all() and (got_label[:, 0, 0, 0] == label[rows]).all()


def check_shuffle(place):
    """Each epoch has every row once, and rows keep their labels."""
    files = [write_rows('%d.h5' % i, i, 10) for i in range(3)]
    write('list.txt', '0.h5\n1.h5\n2.h5\n')
    got_data, got_label = copied(place, 10, 9, 'shuffle: true')
    label = got_label[:, 0, 0, 0].reshape(3, 30)
    everything = sorted(numpy.concatenate([file[1] for file in files]))
    orders = set()
    for epoch in label:
        assert sorted(epoch) == everything
        orders.add(tuple(epoch))
    assert len(orders) == 3
    for data, number in zip(got_data[..., 0], got_label[:, 0, 0, 0]):
        assert (data == files[int(number) // 100][0][int(number) % 100]).all()


def check_types(place):
    """Every kind of number, in either byte order, is read as the float that is nearest."""
    write('list.txt', 'types.h5\n')
    for kind in ('<f4', '>f4', '<f8', '>f8', '<f2', 'i1', 'u1', '<i2', '>i2', '<u2', '<i4', '>i4', '<u4', '<i8', '>u8',
                 '?'):
        values = (numpy.arange(12).reshape(6, 2) * 17 % 101).astype(kind)
        with h5py.File('types.h5', 'w') as file:
            file['data'] = values
            file['label'] = numpy.zeros((6, 1), 'i8')
        got, _ = copied(place, 6, 1)
        assert (got[:, :, 0, 0] == values.astype('f4')).all(), kind


def check_forms(place):
    """A group's dataset as a top, user's blocks before the file, the newest form of file, links, an unwritten
    dataset."""
    values = numpy.arange(8, dtype='f4').reshape(4, 2)
    with h5py.File('forms.h5', 'w', userblock_size=1024, libver='latest') as file:
        file['set/data'] = values
        file['data'] = h5py.SoftLink('/set/data')
        file.create_dataset('label', (4,), 'f4')
        file['unused'] = ['text', 'text']
    write('list.txt', 'forms.h5')
    got, label = copied(place, 4, 1)
    assert (got[:, :, 0, 0] == values).all() and (label == 0).all()
    write('net.prototxt', (COPY % (4, '')).replace('"data"', '"set/data"'))
    place.succeed('test', '--model=net.prototxt', '--iterations=1')
    with h5py.File('out.h5') as file:
        assert (file['data'][()][:, :, 0, 0] == values).all()


def main():
    place = Workplace()
    for check in (check_order, check_shuffle, check_types, check_forms):
        check(place)
        print('%s: well' % check.__name__)


main()
