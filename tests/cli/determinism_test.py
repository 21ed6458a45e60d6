"""A training yields the same bits in a second run, on a busy machine, and with other compute and data threads, folder
names, logs and metrics, on the CPU and on the simulated device, and with ranks on the CPU. More than four compute
threads divide work into more pieces, which changes bits, but only by rounding."""
import contextlib, glob, os, shutil, subprocess, sys

import numpy as np
import pytest

BASE = ('--threads=2', '--data-threads=2', '--deterministic')
WAYS = {'second run': {}, 'third run': {}, 'in another folder': {'folder': 'deeper/down'},
        **{'%d data threads' % count: {'flags': ['--data-threads=%d' % count]} for count in (1, 3, 4)},
        **{'%d threads' % count: {'flags': ['--threads=%d' % count]} for count in (1, 3, 4)},
        **{'%d threads, busy' % count: {'flags': ['--threads=%d' % count], 'busy': True} for count in (2, 4)},
        'with metrics and histograms': {'flags': ['--run=run', '--histograms=10', '--set',
                                                  'solver.snapshot_prefix=snap']},  # within the run's folder
        'with debug_info': {'flags': ['--set', 'solver.debug_info=true']},
        'tested more often': {'flags': ['--set', 'solver.test_interval=7']}}


@contextlib.contextmanager
def busy_cpus():
    """Another process on every CPU."""
    spinning = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


@pytest.fixture(scope='module')
def place(training_folder):
    return training_folder(iters=60, snapshot=0)


@pytest.fixture(scope='module')
def trained(place, run):
    """trained('--threads=1') is the bytes of the last weights."""
    def trained(*flags, busy=False, folder='.'):
        place.clear()
        if folder != '.':
            shutil.copytree(place.name, place.path(folder), ignore=shutil.ignore_patterns('deeper'))
        with busy_cpus() if busy else contextlib.nullcontext():
            run('train', '--solver=solver.prototxt', *BASE, *flags, cwd=place.path(folder))
        made, = glob.glob(place.path('**/snap_iter_60.caffemodel'), recursive=True)
        with open(made, 'rb') as file: weights = file.read()
        for made in ('deeper', 'run'): shutil.rmtree(place.path(made), ignore_errors=True)
        return weights
    return trained


@pytest.fixture(scope='module', params=[[], ['--gpu=simulated']], ids=['cpu', 'simulated'])
def device(request):
    return request.param


@pytest.fixture(scope='module')
def first(trained, device):
    """The weights that all other runs must have."""
    return trained(*device)


@pytest.mark.parametrize('way', WAYS)
def test_weights_are_equal(trained, device, first, way):
    options = WAYS[way]
    again = trained(*device, *options.get('flags', []), busy='busy' in options, folder=options.get('folder', '.'))
    assert again == first


def test_ranks_do_not_change_the_weights(trained):
    """Iterations of four shards, by one process and by several."""
    def of(*ranks): return trained('--set', 'solver.shards=4', '--threads=1', *ranks)
    one = of()
    for ranks in (2, 3, 4): assert of('--ranks=%d' % ranks) == one, ranks


def test_more_pieces_change_little(place, trained, run):
    """Sums that are divided differently are rounded differently."""
    def values(*flags):
        with open(place.path('w.caffemodel'), 'wb') as file: file.write(trained(*flags))
        run('convert', 'weights', 'w.caffemodel', 'w.npz', '--force', cwd=place.name)
        with np.load(place.path('w.npz')) as arrays:
            return np.concatenate([arrays[k].ravel() for k in sorted(arrays)])
    assert np.abs(values('--threads=5') - values()).max() < 1e-4


def test_a_resume_divides_work_like_the_snapshot(place, run):
    """With any number of threads."""
    def train(*flags):
        return run('train', '--solver=solver.prototxt', '--data-threads=2', '--deterministic', *flags, cwd=place.name)
    def weights():
        with open(place.path('snap_iter_60.caffemodel'), 'rb') as file: return file.read()
    place.clear()
    train('--threads=5', '--set', 'solver.snapshot=30')
    whole = weights()
    for threads in (1, 5):
        os.remove(place.path('snap_iter_60.caffemodel'))
        again = train('--snapshot=snap_iter_30.solverstate', '--threads=%d' % threads)
        assert 'not bit for bit' not in again.stderr
        assert weights() == whole, threads
