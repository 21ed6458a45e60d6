"""Photographs are read as by cv2.imread(), with any EXIF orientation, by every command that reads images."""
import struct, zlib

import pytest

cv2 = pytest.importorskip('cv2')
import numpy

from tests.cli.fixtures import read_lmdb

# The four corners' thirds differ, so each orientation yields other scores.
NET = '''layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: 2 dim: 3 } } }
layer { name: "prob" type: "Reshape" bottom: "data" top: "prob" reshape_param { shape { dim: 1 dim: 6 } } }
'''


def exif(orientation):
    return b'MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01' + struct.pack('>H', orientation) + bytes(6)


def with_orientation(path, orientation):
    """Writes the EXIF orientation to the file, like a camera."""
    data = path.read_bytes()
    if path.suffix == '.jpg':
        content = b'Exif\0\0' + exif(orientation)
        data = data[:2] + b'\xff\xe1' + struct.pack('>H', len(content) + 2) + content + data[2:]
    else:
        chunk = b'eXIf' + exif(orientation)
        data = data[:33] + struct.pack('>I', len(chunk) - 4) + chunk + struct.pack('>I', zlib.crc32(chunk)) + data[33:]
    path.write_bytes(data)


@pytest.fixture
def photo(folder):
    """photo(suffix, orientation) writes a file, and a PNG of the image that OpenCV reads from it."""
    x = numpy.zeros((24, 36, 3), numpy.uint8)
    for row in range(2):
        for column in range(3): x[12 * row:12 * row + 12, 12 * column:12 * column + 12] = 30 + 40 * (row * 3 + column)
    def photo(suffix, orientation):
        path = folder / ('photo' + suffix)
        cv2.imwrite(str(path), x)
        with_orientation(path, orientation)
        shown = cv2.imread(str(path))
        assert shown.shape[0] == (36 if orientation > 4 else 24)
        cv2.imwrite('upright.png', shown)
        return path.name, shown
    return photo


@pytest.mark.parametrize('suffix', ['.jpg', '.png'])
@pytest.mark.parametrize('orientation', range(1, 9))
def test_commands_read_as_opencv_does(run, folder, photo, suffix, orientation):
    name, shown = photo(suffix, orientation)
    (folder / 'list').write_text(name + ' 0\n')
    run('convert', 'imageset', './', 'list', '-o', 'set')
    (folder / 'classes/a').mkdir(parents=True), (folder / 'classes/a' / name).write_bytes((folder / name).read_bytes())
    run('convert', 'folder', 'classes', '-o', 'folder_set')
    for path in ('set', 'folder_set'):
        (_, value), = read_lmdb(path)
        planes = shown.transpose(2, 0, 1).tobytes()
        if suffix == '.png': assert planes in value
        assert b'\x10' + bytes([shown.shape[0]]) + b'\x18' + bytes([shown.shape[1]]) in value  # height, width
    (folder / 'net.prototxt').write_text(NET)
    numpy.savez('none.npz', **{'other/0': numpy.ones(1, numpy.float32)})
    scores = [run('classify', '--cpu', '--model=net.prototxt', '--weights=none.npz', '--top=6', file).stdout
              for file in (name, 'upright.png')]
    scores = [text.split('\t')[1:] for text in scores]
    same = [[line.split('\n')[0] for line in of_file] for of_file in scores]
    assert same[0][0::2] == same[1][0::2], 'the order of classes by their scores'
