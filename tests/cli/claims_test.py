"""Files of few bytes on the disk that claim to be large: what they claim never becomes memory."""
import os, resource, struct, subprocess, tarfile, io

import pytest

MUCH = 2200 * 10 ** 6  # bytes that a file claims
MOST = 400 << 20       # that reading it may take


def tar_with_hole(folder):
    """A shard of a small image and its class, and a large one that is a hole."""
    with tarfile.open(folder / 'shard.tar', 'w') as tar:
        for name, content in (('a.ppm', b'P6 2 2 255\n' + bytes(12)), ('a.cls', b'0'), ('b.cls', b'1')):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        at, info = tar.fileobj.tell(), tarfile.TarInfo('b.jpg')
        info.size = MUCH
    with open(folder / 'shard.tar', 'r+b') as file:
        file.seek(at)
        file.write(info.tobuf())
        file.truncate(at + 512 + MUCH + 2048)
    return ['convert', 'tar', 'shard.tar', '-o', 'made']


def image_with_hole(folder):
    with open(folder / 'a.jpg', 'wb') as file: file.truncate(MUCH)
    (folder / 'list.txt').write_text('a.jpg 0\n')
    return ['convert', 'imageset', './', 'list.txt', '-o', 'made']


def cifar_with_hole(folder):
    with open(folder / 'batch.bin', 'wb') as file: file.truncate(MUCH - MUCH % 3073 + 1)
    return ['convert', 'cifar', 'batch.bin', '-o', 'made']


def idx_of_large_images(folder):
    (folder / 'images').write_bytes(struct.pack('>BBBBIII', 0, 0, 8, 3, 1 << 31, 1 << 14, 1 << 14))
    (folder / 'labels').write_bytes(struct.pack('>BBBBI', 0, 0, 8, 1, 1 << 31))
    return ['convert', 'idx', 'images', 'labels', '-o', 'made']


def pnm_of_large_size(folder):
    (folder / 'a.ppm').write_bytes(b'P6 9400 9400 255\n')
    (folder / 'list.txt').write_text('a.ppm 0\n')
    return ['convert', 'imageset', './', 'list.txt', '-o', 'made']


@pytest.mark.parametrize('make', [tar_with_hole, image_with_hole, cifar_with_hole, idx_of_large_images,
                                  pnm_of_large_size])
def test_claims_take_no_memory(cortado, folder, make):
    command = make(folder)
    with open(folder / 'told', 'w+') as told:
        process = subprocess.Popen([cortado, *command], stdout=told, stderr=told)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        text = told.read()
    assert process.returncode == 4 and 'error: ' in text, (process.returncode, text)
    assert used.ru_maxrss << 10 < MOST, (used.ru_maxrss >> 10, text)
    assert not os.path.exists('made'), os.listdir('.')
