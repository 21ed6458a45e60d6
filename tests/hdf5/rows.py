"""Files of images and labels."""
import pytest

h5py = pytest.importorskip('h5py')
import numpy


def write_rows(name, seed, rows, **options):
    """Writes a file; returns its data and labels."""
    draw = numpy.random.RandomState(seed)
    data, label = draw.randn(rows, 2, 3).astype('f4'), numpy.arange(rows) + 100 * seed
    with h5py.File(name, 'w') as file:
        file.create_dataset('data', data=data, **options)
        file['label'] = label.astype('f4')
    return data, label
