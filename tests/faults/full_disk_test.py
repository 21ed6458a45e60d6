"""Disks that are full. First a budget of bytes, after which writes are short and then fail, over the end of a snapshot
and of a conversion: --rounds of them, or with --all byte by byte; then, where it may be mounted, a real file system in
memory, page by page."""
import os, shutil, subprocess

import pytest

from tests.faults import disk, programs, shim

BYTES = 16384  # before the end of what is written

pytestmark = pytest.mark.parametrize('program', [programs.Resume, programs.Conversion], ids=lambda kind: kind.name,
                                     indirect=True)


def judge(program, folder, done):
    """A program without room either says so or did not need it, and nothing is lost."""
    assert done is not None, 'it does not end'
    assert done.returncode in (0, 5), programs.tail(done, 'it ended otherwise')
    told = 'No space left on device' in done.stderr or 'is the disk full?' in done.stderr
    assert done.returncode == 0 or told, programs.tail(done, 'the reason is not told')
    if program.name == 'resume' and done.returncode == 5 and 'Iteration 8' not in done.stderr:
        assert 'Optimization' not in done.stderr, programs.tail(done, 'it neither trained nor said why')
    if program.name == 'resume' and done.returncode == 0 and 'WAS NOT WRITTEN' in done.stderr:
        assert 'training continues' in done.stderr, programs.tail(done, 'nothing says that it goes on')
    program.check(folder, done, 'fail')


def bytes_written(program, folder):
    """By a run on a disk with room."""
    shutil.copytree(program.begin, folder + '/work')
    done = shim.run(program.command(), folder + '/work', under=folder + '/work', record=folder + '/record')
    assert done and done.returncode == 0, programs.tail(done)
    return sum(len(op['data']) for op in disk.read_record(folder + '/record') if op['op'] == 'write')


def test_budget_of_bytes(program, tmp_path, every, rounds, strike_all):
    total = bytes_written(program, str(tmp_path))
    print('%d bytes are written' % total)
    def strike(folder, budget):
        shutil.copytree(program.begin, folder + '/work')
        done = shim.run(program.command(), folder + '/work', under=folder + '/work', budget=budget, reserve='no')
        judge(program, folder + '/work', done)
    step = 1 if every else BYTES // (rounds or 17)
    strike_all(strike, [(budget,) for budget in range(max(0, total - BYTES), total + 1, step)])


@pytest.fixture(scope='module')
def mounts():
    """Skips the test where no file system may be mounted, even in a namespace of its own."""
    if subprocess.run(['unshare', '-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], capture_output=True).returncode:
        pytest.skip('mounting is not allowed')


def on_small_disk(program, place, kibibytes):
    """The program on a file system of that size, whose content is copied out before it goes; None where it is too small
    for what is there."""
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
    """From one that barely takes what is there to one that takes all."""
    tried, place = 0, str(tmp_path)
    least = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(program.begin) for n in names) // 1024
    for size in range(least, least + 2000, 4):
        done = on_small_disk(program, place, size)
        if done is None: continue
        tried += 1
        judge(program, place + '/work', done)
        if done.returncode == 0 and 'WAS NOT WRITTEN' not in done.stderr: break
    print('%d small disks' % tried)
