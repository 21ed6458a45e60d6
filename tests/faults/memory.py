#!/usr/bin/python3
"""Allocations that fail: the k-th alone, and the k-th and all after it, through check, load and setup of LeNet. What
main() finds already there does not count: the first is the one after the first file was opened. A program ends then
with words and a code, not by a signal, and not never.

    memory.py CORTADO FAULT_CALLS.so LENET.prototxt [--all] [--most 1000] [--jobs 2]
"""
import argparse, concurrent.futures, os, shutil, sys, tempfile, time
import programs, shim

CODES = (0, 1, 2, 4, 5, 6, 8)
STATE = {}


def prepare(exe, lenet, place):
    begin = place + '/begin'
    os.mkdir(begin)
    here = os.getcwd()
    os.chdir(begin)
    programs.fixtures.idx('images', 'labels', n=8, h=28, w=28)
    os.mkdir('data_sets')
    for name in ('train', 'test'):
        assert not os.system('%s convert idx images labels -o data_sets/fashion_mnist_%s_lmdb > log 2>&1' % (exe, name))
    shutil.copy(lenet, 'net.prototxt')
    with open('solver.prototxt', 'w') as f:
        f.write('net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 1 random_seed: 1 solver_mode: CPU '
                'snapshot_after_train: false test_iter: 1 test_interval: 1')
    os.chdir(here)
    return begin


def commands(exe):
    return {'check': [exe, 'check', 'net.prototxt'],
            'setup': [exe, 'train', '--solver=solver.prototxt', '--threads=1', '--data-threads=1']}


def count(words, begin, place):
    done = shim.run(words, begin, under=begin, log=place + '/count')
    assert done and done.returncode == 0, programs.tail(done)
    lines = [line for line in shim.read_log(place + '/count', remove=True) if line[0] == 'total']
    return int(lines[-1][2])


def strike(name, k, action):
    """What was violated, or ''."""
    begin = STATE['begin']
    done = shim.run(STATE['commands'][name], begin, under=begin, rules=['malloc:%d:%s:12' % (k, action)], limit=60)
    what = '%s, allocation %d, %s: ' % (name, k, action)
    if done is None: return what + 'it does not end'
    if done.returncode not in CODES:
        return '%sexit %d: %s' % (what, done.returncode, ' | '.join(done.stderr.strip().split('\n')[-3:])[-400:])
    if done.returncode != 0 and not done.stderr.strip(): return what + 'no words: ' + programs.tail(done)
    return ''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cortado', type=os.path.abspath)
    parser.add_argument('library', type=os.path.abspath)
    parser.add_argument('lenet', type=os.path.abspath)
    parser.add_argument('--all', action='store_true', help='up to --most of each')
    parser.add_argument('--most', type=int, default=1000, help='allocations of each command, evenly, all the first 100')
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    shim.LIBRARY = options.library
    begin, violations, faults = time.monotonic(), [], []
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as place:
        STATE['begin'], STATE['commands'] = prepare(options.cortado, options.lenet, place), commands(options.cortado)
        for name, words in STATE['commands'].items():
            total = count(words, STATE['begin'], place)
            stride = max(1, total // (options.most if options.all else 12))
            chosen = sorted({*(range(1, min(total, 100) + 1) if options.all else ()), *range(1, total + 1, stride)})
            print('%s: %d allocations, %d of them fail' % (name, total, len(chosen)), flush=True)
            faults += [(name, k, action) for k in chosen for action in ('fail', 'failon')]
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            for violation in pool.map(strike, *zip(*faults), chunksize=1):
                if violation: print(violation, flush=True)
                violations += [violation] if violation else []
    print('memory: 2 commands, %d failing allocations: %d violations (%d s)' %
          (len(faults), len(violations), time.monotonic() - begin))
    return 1 if violations else 0


if __name__ == '__main__': sys.exit(main())
