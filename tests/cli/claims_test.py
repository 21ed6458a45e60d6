"""Small files with large sizes in their headers: no memory is allocated for these sizes."""
import os, resource, struct, subprocess, tarfile, io

import pytest

CLAIMED = 2200 * 10 ** 6    # bytes, in the file's header
MAX_MEMORY = 400 << 20      # bytes, while it is read


def tar_with_hole(folder):
    """A shard of a small image with its class, and of a large image that is a hole."""
    with tarfile.open(folder / 'shard.tar', 'w') as tar:
        for name, content in (('a.ppm', b'P6 2 2 255\n' + bytes(12)), ('a.cls', b'0'), ('b.cls', b'1')):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        at, info = tar.fileobj.tell(), tarfile.TarInfo('b.jpg')
        info.size = CLAIMED
    with open(folder / 'shard.tar', 'r+b') as file:
        file.seek(at)
        file.write(info.tobuf())
        file.truncate(at + 512 + CLAIMED + 2048)
    return ['convert', 'tar', 'shard.tar', '-o', 'made']


def image_with_hole(folder):
    with open(folder / 'a.jpg', 'wb') as file: file.truncate(CLAIMED)
    (folder / 'list.txt').write_text('a.jpg 0\n')
    return ['convert', 'imageset', './', 'list.txt', '-o', 'made']


def cifar_with_hole(folder):
    with open(folder / 'batch.bin', 'wb') as file: file.truncate(CLAIMED - CLAIMED % 3073 + 1)
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
    with open(folder / 'output', 'w+') as output:
        process = subprocess.Popen([cortado, *command], stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    assert process.returncode == 4 and 'error: ' in text, (process.returncode, text)
    assert used.ru_maxrss << 10 < MAX_MEMORY, (used.ru_maxrss >> 10, text)
    assert not os.path.exists('made'), os.listdir('.')
