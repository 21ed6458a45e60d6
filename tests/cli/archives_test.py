"""`cortado convert tar` reads the same records from every kind of archive; damaged and hostile ones are errors."""
import io, os, random, shutil, subprocess, tarfile, zipfile

import pytest

from tests.cli.fixtures import read_lmdb


def ppm(level, side=8):
    return b'P6\n%d %d\n255\n' % (side, side) + bytes([level]) * (3 * side * side)


SAMPLES = {'a/00.ppm': ppm(10), 'a/00.cls': b'0', 'b/01.ppm': ppm(200), 'b/01.cls': b'1\n',
           'č/é 猫.ppm': ppm(90), 'č/é 猫.cls': b'1'}


def tar(samples, packing=''):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode='w:' + packing) as archive:
        for name, content in samples.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def zstd(content, size=60000):
    """A frame of uncompressed blocks."""
    pieces = [content[at:at + size] for at in range(0, len(content), size)]
    return b'\x28\xb5\x2f\xfd\x00\x58' + b''.join(
        (len(piece) << 3 | (at == len(pieces) - 1)).to_bytes(3, 'little') + piece for at, piece in enumerate(pieces))


def zipped(samples, method=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, 'w', method) as archive:
        for name, content in samples.items(): archive.writestr(name, content)
    return made.getvalue()


KINDS = {'tar': tar, 'tar.gz': lambda samples: tar(samples, 'gz'), 'tar.xz': lambda samples: tar(samples, 'xz'),
         'tar.zst': lambda samples: zstd(tar(samples)), 'zip': zipped,
         'stored.zip': lambda samples: zipped(samples, zipfile.ZIP_STORED)}


@pytest.mark.parametrize('kind', KINDS)
def test_every_kind_is_read_the_same(run, folder, kind):
    (folder / 'a.tar').write_bytes(tar(SAMPLES))
    (folder / ('b.' + kind)).write_bytes(KINDS[kind](SAMPLES))
    run('convert', 'tar', 'a.tar', '-o', 'plain')
    resized = ['--encoded', '--encode-type=jpg', '--resize-height=4', '--resize-width=4', '--shuffle']
    for name, flags in (('made', []), ('encoded', ['--encoded']), ('resized', resized)):
        run('convert', 'tar', 'b.' + kind, '-o', name, *flags)
    assert read_lmdb('made') == read_lmdb('plain') and len(read_lmdb('made')) == 3
    assert [key[9:] for key, value in read_lmdb('encoded')] == ['a/00.ppm', 'b/01.ppm', 'č/é 猫.ppm']
    assert all(ppm(level) in value for level, (key, value) in zip((10, 200, 90), read_lmdb('encoded')))
    assert len(read_lmdb('resized')) == 3


@pytest.mark.parametrize('kind', KINDS)
def test_damage_is_reported(cortado, run, folder, seed, kind):
    noise = random.Random(seed)
    samples = dict(SAMPLES, **{'c/%02d.cls' % i: bytes(noise.randrange(256) for _ in range(3000)) for i in range(9)})
    whole = KINDS[kind](samples)
    for share in (0.02, 0.3, 0.6, 0.9):
        (folder / 'cut').write_bytes(whole[:int(len(whole) * share)])
        stderr = run('convert', 'tar', 'cut', '-o', 'made', code=4).stderr
        assert 'error: ' in stderr, stderr
    for _ in range(20):
        damaged = bytearray(whole)
        for _ in range(20): damaged[noise.randrange(len(damaged))] = noise.randrange(256)
        (folder / 'damaged').write_bytes(damaged)
        done = subprocess.run([cortado, 'convert', 'tar', 'damaged', '-o', 'made', '--force'], capture_output=True,
                              timeout=60)  # bytes, since damaged names may not be UTF-8
        assert done.returncode in (0, 4), done.stderr


@pytest.mark.parametrize('kind', KINDS)
def test_names_stay_in_their_folder(run, folder, kind):
    for name in ('../out.ppm', 'a/../../out.ppm', '/tmp/out.ppm'):
        (folder / 'a').write_bytes(KINDS[kind](dict(SAMPLES, **{name: ppm(1)})))
        assert 'leaves its folder' in run('convert', 'tar', 'a', '-o', 'made', code=4).stderr


def test_links_are_skipped(run, folder):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode='w') as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo('secret%s.ppm' % kind.decode())
            info.type, info.linkname = kind, '/etc/passwd'
            archive.addfile(info)
    linked = made.getvalue().rstrip(b'\0')
    linked += bytes(-len(linked) % 512)
    (folder / 'a.tar').write_bytes(linked + tar(SAMPLES))
    run('convert', 'tar', 'a.tar', '-o', 'made')
    assert len(read_lmdb('made')) == 3


@pytest.mark.parametrize('kind', ['tar.gz', 'tar.xz', 'zip'])
def test_bombs_are_not_unpacked(run, folder, kind):
    (folder / 'a').write_bytes(KINDS[kind](dict(SAMPLES, **{'c/02.ppm': bytes(200 << 20)})))
    (folder / 'tmp').mkdir()
    stderr = run('convert', 'tar', 'a', '-o', 'made', code=4, env={**os.environ, 'TMPDIR': str(folder / 'tmp')}).stderr
    assert 'too large for an archive' in stderr and os.listdir(folder / 'tmp') == []


def test_a_zip_that_needs_a_password_is_an_error(run, folder):
    whole = bytearray(zipped(SAMPLES))
    for at in range(len(whole)):
        if whole[at:at + 4] == b'PK\x03\x04': whole[at + 6] |= 1
        if whole[at:at + 4] == b'PK\x01\x02': whole[at + 8] |= 1
    (folder / 'a.zip').write_bytes(whole)
    run('convert', 'tar', 'a.zip', '-o', 'made', code=4)


def test_no_room_to_unpack_is_reported(run, folder):
    (folder / 'a.tar.gz').write_bytes(tar(SAMPLES, 'gz'))
    stderr = run('convert', 'tar', 'a.tar.gz', '-o', 'made', code=5, env={**os.environ, 'TMPDIR': '/none'}).stderr
    assert '/none' in stderr and 'TMPDIR' in stderr


def test_without_the_module_the_error_names_the_package(cortado, run, folder):
    shutil.copy(cortado, 'alone')
    (folder / 'a.tar').write_bytes(tar(SAMPLES))
    stderr = run('convert', 'tar', 'a.tar', '-o', 'made', program='./alone', code=5).stderr
    assert 'libcortado_archive.so' in stderr and 'libarchive13' in stderr
