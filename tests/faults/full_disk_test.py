"""Full disks. First a limit on written bytes, after which writes are short and then fail, near the end of a snapshot
and of a conversion: --rounds limits, or with --all each byte. Then small tmpfs file systems, if mounting is allowed,
whose size grows by 4 KiB."""
import os, shutil, subprocess

import pytest

from tests.faults import disk, programs, shim

BYTES = 16384  # limits are tested in the last BYTES of the output

pytestmark = pytest.mark.parametrize('program', [programs.Resume, programs.Conversion, programs.Export, programs.New],
                                     ids=lambda kind: kind.name, indirect=True)


def judge(program, folder, done):
    """The program succeeds, or reports that the disk is full. Nothing is lost."""
    assert done is not None, 'the program hangs'
    assert done.returncode in (0, 5), programs.tail(done, 'unexpected exit code')
    reported = 'No space left on device' in done.stderr or 'is the disk full?' in done.stderr
    assert done.returncode == 0 or reported, programs.tail(done, 'the reason is not reported')
    if program.name == 'resume' and done.returncode == 5 and 'Iteration 8' not in done.stderr:
        assert 'Optimization' not in done.stderr, programs.tail(done, 'it neither trained nor reported why')
    if program.name == 'resume' and done.returncode == 0 and 'WAS NOT WRITTEN' in done.stderr:
        assert 'training continues' in done.stderr, programs.tail(done, 'it does not report that it continues')
    program.check(folder, done, 'fail')


def bytes_written(program, folder):
    """The number of bytes that the program writes without a fault."""
    shutil.copytree(program.begin, folder + '/work')
    done = shim.run(program.command(), folder + '/work', under=folder + '/work', record=folder + '/record')
    assert done and done.returncode == 0, programs.tail(done)
    return sum(len(op['data']) for op in disk.read_record(folder + '/record') if op['op'] == 'write')


def test_budget_of_bytes(program, tmp_path, every, rounds, inject_all):
    total = bytes_written(program, str(tmp_path))
    print('%d bytes written' % total)
    def inject(folder, budget):
        shutil.copytree(program.begin, folder + '/work')
        done = shim.run(program.command(), folder + '/work', under=folder + '/work', budget=budget, reserve='no')
        judge(program, folder + '/work', done)
    step = 1 if every else BYTES // (rounds or 17)
    inject_all(inject, [(budget,) for budget in range(max(0, total - BYTES), total + 1, step)])


@pytest.fixture(scope='module')
def mounts():
    """Skips the test if mounting is not allowed in a mount namespace."""
    if subprocess.run(['unshare', '-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], capture_output=True).returncode:
        pytest.skip('mounting is not allowed')


def on_small_disk(program, place, kibibytes):
    """Runs the program on a file system of that size, and copies its content to a folder. Returns None if the file
    system is too small for the program's files."""
    folder = place + '/work'
    shutil.rmtree(folder, ignore_errors=True)
    script = ('mkdir -p "$1.disk" && mount -t tmpfs -o size=%dk none "$1.disk" && cp -r "$2/." "$1.disk" || exit 77\n'
              'cd "$1.disk"; shift 2; "$@" > "$OLDPWD/out" 2> "$OLDPWD/err"; code=$?\n'
              'cp -r . "$OLDPWD/work"; exit $code' % kibibytes)
    done = subprocess.run(['unshare', '-m', 'bash', '-c', script, '_', folder, program.begin, *program.command()],
                          cwd=place, capture_output=True, text=True, timeout=120)
    if done.returncode == 77: return None
    text = [programs.read(place + '/' + name).decode(errors='replace') for name in ('out', 'err')]
    return subprocess.CompletedProcess(program.words, done.returncode, *text)


def test_small_disk(mounts, program, tmp_path):
    """Sizes from one that barely holds the program's files to one on which it succeeds."""
    tried, place = 0, str(tmp_path)
    least = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(program.begin) for n in names) // 1024
    for size in range(least, least + 2000, 4):
        done = on_small_disk(program, place, size)
        if done is None: continue
        tried += 1
        judge(program, place + '/work', done)
        if done.returncode == 0 and 'WAS NOT WRITTEN' not in done.stderr: break
    print('%d small disks' % tried)
