#!/usr/bin/python3
"""What leaves the bits of a training as they are: a second run, data threads, whose threads a loop runs on, the
folder's name, what is logged and looked at; each on the CPU and on the simulated device; and ranks, on the CPU. What
may change them, the number of compute threads, changes little.

    determinism.py CORTADO
"""
import os, shutil, subprocess, sys
import numpy as np
from workplace import Workplace

BASE = ('--threads=2', '--data-threads=2', '--deterministic')


def trained(place, *flags, env={}, folder='.'):
    """The bytes of the last weights."""
    words = [place.exe, 'train', '--solver=solver.prototxt', *BASE, *flags]
    done = subprocess.run(words, cwd=place.path(folder), env=dict(os.environ, **env), capture_output=True, text=True)
    assert done.returncode == 0, (flags, done.stderr[-2000:])
    with open(place.path(folder + '/snap_iter_60.caffemodel'), 'rb') as file: return file.read()


def values(place, weights):
    """All weights one behind the other."""
    with open(place.path('w.caffemodel'), 'wb') as file: file.write(weights)
    subprocess.run([place.exe, 'convert', 'weights', 'w.caffemodel', 'w.npz', '--force'], cwd=place.name, check=True,
                   capture_output=True)
    with np.load(place.path('w.npz')) as arrays: return np.concatenate([arrays[k].ravel() for k in sorted(arrays)])


def other_folder(place):
    shutil.copytree(place.name, place.path('deeper/down'), ignore=shutil.ignore_patterns('deeper'))
    return 'deeper/down'


def check_equal(place, device):
    """Every way to run it gives the same bytes."""
    first = trained(place, *device)
    ways = {'again': {}, 'again, a third time': {}, 'in another folder': {'folder': other_folder(place)}}
    for count in (1, 3, 4): ways['%d data threads' % count] = {'flags': ['--data-threads=%d' % count]}
    for pool in ('own', 'openmp'): ways['pool ' + pool] = {'env': {'CORTADO_POOL': pool}}
    ways['with metrics and histograms'] = {'flags': ['--run=run', '--histograms=10', '--set',
                                                     'solver.snapshot_prefix=snap']}
    ways['with debug_info'] = {'flags': ['--set', 'solver.debug_info=true']}
    ways['tested more often'] = {'flags': ['--set', 'solver.test_interval=7']}
    for name, way in ways.items():
        again = trained(place, *device, *way.get('flags', []), env=way.get('env', {}), folder=way.get('folder', '.'))
        assert again == first, name
        print('  %s: equal' % name)
    for made in ('deeper', 'run'): shutil.rmtree(place.path(made))
    return first


def check_ranks(place):
    """An iteration of four batches, by one process and by several."""
    def of(ranks): return trained(place, '--set', 'solver.shards=4', '--threads=1', *ranks)
    one = of([])
    for ranks in (2, 3, 4):
        assert of(['--ranks=%d' % ranks]) == one, ranks
        print('  %d ranks: equal' % ranks)


def check_threads(place, first):
    """Sums that are split otherwise are rounded otherwise, and no more than that."""
    for threads in (1, 3, 4):
        other = values(place, trained(place, '--threads=%d' % threads))
        error = np.abs(other - values(place, first)).max()
        assert error < 1e-4, (threads, error)
        print('  %d threads: within %.1e' % (threads, error))


def main():
    place = Workplace(sys.argv[1], iters=60, snapshot=0)
    first = check_equal(place, [])
    print('device')
    check_equal(place, ['--gpu=simulated'])
    print('ranks')
    check_ranks(place)
    print('threads')
    check_threads(place, first)


main()
