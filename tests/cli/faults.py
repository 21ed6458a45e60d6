#!/usr/bin/python3
"""Faults that no file holds: calls of the system that fail or are the last, pipes where files should be, descriptors
that are closed, disks and limits that are reached. faults.py CORTADO FAULT_CALLS.so"""
import errno, glob, json, os, re, resource, shutil, signal, subprocess, sys, time
from workplace import Workplace
import fixtures

SHIM = ''
ENDED = 99  # by the shim


def run(place, *words, limit=60, env=None, **more):
    environment = dict(os.environ, **env) if env else None
    if env: environment['LD_PRELOAD'] = SHIM
    return subprocess.run([place.exe, *words], cwd=place.name, env=environment, capture_output=True, text=True,
                          timeout=limit, **more)

def fails(place, code, *words, tells=(), **more):
    done = run(place, *words, **more)
    assert done.returncode == code, (words, done.returncode, done.stderr[-2000:])
    for text in tells: assert text in done.stderr, (words, text, done.stderr[-2000:])
    return done.stderr


# A dataset that replaces another.

class Datasets:
    """The folder `db` with an old dataset of 8 records; new() converts 16 others over it."""

    def __init__(self, place):
        self.place = place
        os.makedirs(place.path('sets'), exist_ok=True)
        self.path = place.path('sets/db')
        for count in (8, 16): fixtures.idx(place.path('images%d' % count), place.path('labels%d' % count), n=count)

    def reset(self):
        for name in glob.glob(self.path + '*'): shutil.rmtree(name)
        assert self.convert(8).returncode == 0

    def convert(self, count, *flags, **more):
        return run(self.place, 'convert', 'idx', 'images%d' % count, 'labels%d' % count, '-o', 'sets/db', *flags,
                   **more)

    def records(self):
        """How many the dataset holds, every one of which can be read; None where there is no dataset."""
        if not os.path.exists(self.path): return None
        done = run(self.place, 'mean', 'sets/db', '-o', 'mean.binaryproto')
        assert done.returncode == 0, done.stderr
        with open(self.path + '/data.mdb', 'rb') as f: pages = [f.read(4096) for _ in range(2)]
        newest = max(pages, key=lambda page: int.from_bytes(page[144:152], 'little'))
        return int.from_bytes(newest[88 + 32:88 + 40], 'little')

    def names(self): return sorted(os.listdir(self.place.path('sets')))

def check_death_while_replacing(place):
    """Whenever the process dies, the name is there, with the old dataset or the new one, both whole."""
    sets = Datasets(place)
    for call in ('fsync', 'rename', 'renameat2', 'remove'):
        for count in range(1, 20):
            sets.reset()
            done = sets.convert(16, '--force', env={'FAULT': '%s:%d:before' % (call, count)})
            assert sets.records() in (8, 16), (call, count, done.returncode)
            if done.returncode == 0: break
            assert done.returncode == ENDED, done.stderr
        assert done.returncode == 0 and sets.records() == 16, (call, done.returncode)
        print('  %s: %d deaths' % (call, count - 1))

def check_death_without_exchange(place):
    """Where the file system cannot exchange, the old dataset may be without its name; a reader says how to get it back,
    and the next conversion does."""
    sets, lost = Datasets(place), 0
    exchanges = 'renameat2:1:failon:%d' % errno.EINVAL
    for call in ('fsync', 'rename', 'remove'):
        for count in range(1, 20):
            sets.reset()
            done = sets.convert(16, '--force', env={'FAULT': '%s,%s:%d:before' % (exchanges, call, count)})
            if sets.records() is None:
                lost += 1
                fails(place, 5, 'mean', 'sets/db', tells=['mv sets/db.tmp.old sets/db'])
            again = sets.convert(16)
            assert again.returncode == 5 and 'exists already' in again.stderr, again.stderr
            assert sets.records() in (8, 16), (call, count)
            assert 'db.tmp.old' not in sets.names()
            if done.returncode == 0: break
        assert done.returncode == 0 and sets.records() == 16
    assert lost == 1, lost

def check_failing_sync(place):
    """A dataset that may not be on the disk is no success, and the old one stays."""
    sets = Datasets(place)
    for count in range(1, 20):
        sets.reset()
        done = sets.convert(16, '--force', env={'FAULT': 'fsync:%d:failon:%d' % (count, errno.EIO)})
        if done.returncode == 0: break
        assert done.returncode == 5 and 'Input/output error' in done.stderr, (done.returncode, done.stderr)
        assert sets.records() == 8 and sets.names() == ['db'], (count, sets.names())
    assert done.returncode == 0 and count > 2, count


def check_interrupted_calls(place):
    """A signal that comes in the middle of a call is no reason to fail."""
    for call in ('ftruncate', 'fsync', 'write', 'read'):
        for count in range(1, 30):
            log = place.path('calls.log')
            if os.path.exists(log): os.remove(log)
            done = run(place, 'mean', 'train_lmdb', '-o', 'mean.binaryproto', env={
                'FAULT': '%s:%d:fail:%d' % (call, count, errno.EINTR), 'FAULT_UNDER': place.name, 'FAULT_LOG': log})
            assert done.returncode == 0, (call, count, done.returncode, done.stderr)
            if 'fired ' not in open(log).read(): break
        print('  %s: %d interruptions' % (call, count - 1))
        assert call == 'read' or count > 1, call


# Pipes.

def pipe(path):
    if os.path.isdir(path): shutil.rmtree(path)
    elif os.path.exists(path): os.remove(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mkfifo(path)

NET = '''layer { name: "data" type: "%s" top: "data" top: "label" %s }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }
'''

def check_pipes(place):
    """A pipe that nobody writes to, in place of every kind of file: an error at once."""
    path, limit = place.path, 20
    pipe(path('pipe'))
    tells = ['pipe', 'not a regular file']
    place.write('deploy.prototxt', '''layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }\n''')
    fixtures.pgm(path('image.pgm'), 4, 4)
    fixtures.caffemodel(path('good.caffemodel'), fixtures.layer_weights(
        'ip', 'InnerProduct', fixtures.blob([2, 16], [0.0] * 32), fixtures.blob([2], [0.0] * 2)))
    classify = ('classify', '--model=deploy.prototxt', '--weights=good.caffemodel')
    assert run(place, *classify, 'image.pgm', '--scale=1').returncode == 0
    shutil.copytree(path('train_lmdb'), path('piped_lmdb'))
    pipe(path('piped_lmdb/data.mdb'))
    pipe(path('piped_leveldb/CURRENT'))
    place.write('list.txt', 'pipe 1\n')
    nets = {'data.mdb': ('Data', 'data_param { source: "piped_lmdb" batch_size: 2 backend: LMDB }'),
            'mean': ('Data', 'data_param { source: "train_lmdb" batch_size: 2 backend: LMDB } '
                             'transform_param { mean_file: "pipe" }'),
            'list': ('ImageData', 'image_data_param { source: "pipe" batch_size: 2 }'),
            'image': ('ImageData', 'image_data_param { source: "list.txt" batch_size: 2 }'),
            'windows': ('WindowData', 'window_data_param { source: "pipe" batch_size: 2 } '
                                      'transform_param { crop_size: 8 }'),
            'rows': ('HDF5Data', 'hdf5_data_param { source: "pipe" batch_size: 2 }')}
    solver = open(path('solver.prototxt')).read()
    for name, layer in nets.items():
        place.write('piped.prototxt', NET % layer)
        place.write('piped_solver.prototxt', solver.replace('net.prototxt', 'piped.prototxt').replace('test_i', '#'))
        for words in (('check', 'piped.prototxt'), ('train', '--solver=piped_solver.prototxt')):
            done = run(place, *words, limit=limit)
            told = done.returncode in (4, 5) and all(t in done.stderr for t in tells)
            assert told, (name, words, done.returncode, done.stderr)
    for code, words in ((5, ('mean', 'piped_lmdb')), (5, ('convert', 'leveldb', 'piped_leveldb', '-o', 'x')),
                        (5, ('train', '--solver=solver.prototxt', '--weights=pipe')),
                        (5, ('train', '--solver=solver.prototxt', '--snapshot=pipe')),
                        (5, ('convert', 'weights', 'pipe', '--list')),
                        (5, ('convert', 'idx', 'pipe', 'pipe', '-o', 'x')),
                        (5, ('convert', 'cifar', 'pipe', '-o', 'x')), (5, ('upgrade', 'pipe', 'x')),
                        (5, ('check', 'pipe')),
                        (5, classify + ('pipe',)), (5, classify + ('image.pgm', '--mean=pipe'))):
        fails(place, code, *words, tells=tells, limit=limit)
    place.clear()
    os.mkfifo(path('snap_iter_9.solverstate'))
    done = run(place, 'train', '--solver=solver.prototxt', '--snapshot=auto', '--set', 'solver.max_iter=2', limit=limit)
    assert done.returncode == 0 and 'training starts from the beginning' in done.stderr, done.stderr[-2000:]
    place.clear()

def check_prototxt_from_pipes(place):
    """A shell's <(...) is a pipe with a writer, and a solver may come from one."""
    text = open(place.path('solver.prototxt')).read().replace('max_iter: 40', 'max_iter: 2')
    done = run(place, 'train', '--solver=/dev/stdin', input=text)
    assert done.returncode == 0 and 'Optimization Done.' in done.stderr, done.stderr[-2000:]

def check_signals_while_waiting(place):
    """Nothing is lost yet: one signal ends a training that waits for a net that nobody writes."""
    pipe(place.path('pipe'))
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        waiting = subprocess.Popen([place.exe, 'train', '--solver=solver.prototxt', '--set', 'solver.net=pipe'],
                                   cwd=place.name, stderr=subprocess.PIPE, text=True)
        for line in waiting.stderr:
            if 'Creating training net' in line: break
        time.sleep(0.3)
        waiting.send_signal(number)
        assert waiting.wait(10) == code


# Descriptors, disks, limits.

def metrics_of(place, name='metrics.jsonl'):
    return [json.loads(line) for line in open(place.path(name))]

def check_closed_descriptors(place):
    """What is opened first does not become stdin, stdout or stderr."""
    for closed in ((2,), (0, 1, 2), (1, 2)):
        place.clear()
        if os.path.exists(place.path('metrics.jsonl')): os.remove(place.path('metrics.jsonl'))
        code = subprocess.call([place.exe, 'train', '--solver=solver.prototxt', '--metrics=metrics.jsonl'],
                               cwd=place.name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: [os.close(n) for n in closed])
        assert code == 0, (closed, code)
        assert [e['ev'] for e in metrics_of(place)][-1] == 'run_end', closed
        for name in glob.glob(place.path('snap*')): assert b'solver.cc' not in open(name, 'rb').read(), name
    closed = subprocess.run([place.exe, 'layers'], capture_output=True, preexec_fn=lambda: os.close(1))
    assert closed.returncode == 5, 'results that nobody can read are a failure'

def check_full_disk(place):
    """Metrics are whole lines, and the reason is the system's."""
    flags = ('train', '--solver=solver.prototxt', '--set', 'solver.snapshot=0', '--set',
             'solver.snapshot_after_train=false')
    place.write('metrics.jsonl', '')
    assert run(place, *flags, '--metrics=metrics.jsonl').returncode == 0
    lines = open(place.path('metrics.jsonl')).read().splitlines(True)
    for size in range(len(lines[0]) + 5, len(''.join(lines)) - 10, 37):
        place.write('metrics.jsonl', '')
        done = run(place, *flags, '--metrics=metrics.jsonl',
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        told = 'metrics are lost: cannot write to metrics.jsonl: File too large' in done.stderr
        assert done.returncode == 0 and told, done.stderr[-2000:]
        assert open(place.path('metrics.jsonl')).read().endswith('}\n') and len(metrics_of(place)) >= 1
    done = run(place, *flags, '--metrics=/dev/full')
    told = 'cannot write to /dev/full: No space left on device' in done.stderr
    assert done.returncode == 0 and told, done.stderr[-2000:]

def check_threads(place):
    """Whichever thread cannot be made: exit 6, with words, and the old snapshots stay."""
    for count in (1, 2, 3, 4, 5, 6, 8, 12, 20, 50, 200):
        done = run(place, 'train', '--solver=solver.prototxt', '--threads=3', '--data-threads=2',
                   env={'FAULT': 'thread:%d:failon:%d' % (count, errno.EAGAIN), 'OMP_NUM_THREADS': '3'})
        if done.returncode == 0: break
        assert done.returncode == 6, (count, done.returncode, done.stderr[-2000:])
        assert 'thread' in done.stderr and 'hint: ' in done.stderr and 'ulimit -u' in done.stderr, done.stderr[-2000:]
    assert count > 5 and done.returncode == 0, (count, done.returncode)

def check_address_space(place):
    """What `ulimit -v` leaves is what is available."""
    place.write('large.prototxt', '''
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 1 dim: 50000 } } }
layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" inner_product_param { num_output: 10000 } }\n''')
    limit = 1500 << 20
    told = fails(place, 6, 'time', '--model=large.prototxt', '--phase=TEST', tells=['not enough memory'],
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    available = re.search(r'(\d+) MiB are needed, (\d+) MiB are available', told)
    assert available and int(available[2]) < limit >> 20 < int(available[1]), told

def main():
    global SHIM
    SHIM = os.path.abspath(sys.argv[2])
    place = Workplace(sys.argv[1], iters=40)
    for check in (check_death_while_replacing, check_death_without_exchange, check_failing_sync,
                  check_interrupted_calls, check_pipes, check_prototxt_from_pipes, check_signals_while_waiting,
                  check_closed_descriptors, check_full_disk, check_threads, check_address_space):
        if len(sys.argv) > 3 and check.__name__ not in sys.argv[3:]: continue
        check(place)
        print(check.__name__, 'ok')


main()
