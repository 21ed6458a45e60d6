"""What the programs here share: a folder of their own, and cortado run in it."""
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)


class Workplace(tempfile.TemporaryDirectory):
    def __init__(self):
        super().__init__()
        self.program = os.path.abspath(sys.argv[1])
        if not os.path.exists(os.path.join(os.path.dirname(self.program), 'cortado-hdf5')):
            print('skipped: built without HDF5')
            sys.exit(77)
        os.chdir(self.name)

    def run(self, *arguments, program=None, timeout=120):
        return subprocess.run([program or self.program, *arguments], capture_output=True, text=True, timeout=timeout)

    def succeed(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.returncode, done.stderr[-2000:])
        return done


def write(name, text):
    with open(name, 'w') as file:
        file.write(text)


def write_rows(name, seed, rows, **options):
    """A file of images and labels, and what is in it."""
    draw = numpy.random.RandomState(seed)
    data, label = draw.randn(rows, 2, 3).astype('f4'), numpy.arange(rows) + 100 * seed
    with h5py.File(name, 'w') as file:
        file.create_dataset('data', data=data, **options)
        file['label'] = label.astype('f4')
    return data, label
