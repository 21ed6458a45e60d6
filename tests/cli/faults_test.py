"""Faults of the environment: system calls that fail or during which the process dies, pipes in place of files, closed
descriptors, full disks and limits."""
import errno, glob, json, os, re, resource, shutil, signal, subprocess, time

import pytest

from tests.cli import fixtures

ENDED = 99  # exit code that the library libfault_calls.so sets


@pytest.fixture(scope='module')
def place(training_folder):
    return training_folder(iters=40)


@pytest.fixture
def call(place, helper):
    """call('check', 'net.prototxt') runs the program in `place`; FAULT in `env` makes system calls fail."""
    library = helper('libfault_calls.so')
    def call(*words, limit=60, env={}, **more):
        preload = {'LD_PRELOAD': library} if env else {}
        return subprocess.run([place.exe, *words], cwd=place.name, env={**os.environ, **env, **preload},
                              capture_output=True, text=True, timeout=limit, **more)
    return call


@pytest.fixture
def fails(call):
    """fails(5, 'check', 'pipe', messages=['pipe']) expects the code and the texts in stderr; returns stderr."""
    def fails(code, *words, messages=(), **more):
        done = call(*words, **more)
        assert done.returncode == code, (words, done.returncode, done.stderr[-2000:])
        for text in messages: assert text in done.stderr, (words, text, done.stderr[-2000:])
        return done.stderr
    return fails


# A dataset that replaces another.

class Datasets:
    """The folder `db` with an old dataset of 8 records; new() converts 16 others over it."""

    def __init__(self, place, call):
        self.place, self.call = place, call
        os.makedirs(place.path('sets'), exist_ok=True)
        self.path = place.path('sets/db')
        for count in (8, 16): fixtures.idx(place.path('images%d' % count), place.path('labels%d' % count), n=count)

    def reset(self):
        for name in glob.glob(self.path + '*'): shutil.rmtree(name)
        assert self.convert(8).returncode == 0

    def convert(self, count, *flags, **more):
        return self.call('convert', 'idx', 'images%d' % count, 'labels%d' % count, '-o', 'sets/db', *flags,
                         **more)

    def records(self):
        """The number of records, after all have been read; None without a dataset."""
        if not os.path.exists(self.path): return None
        done = self.call('mean', 'sets/db', '-o', 'mean.binaryproto', '--force')
        assert done.returncode == 0, done.stderr
        with open(self.path + '/data.mdb', 'rb') as f: pages = [f.read(4096) for _ in range(2)]
        newest = max(pages, key=lambda page: int.from_bytes(page[144:152], 'little'))
        return int.from_bytes(newest[88 + 32:88 + 40], 'little')

    def names(self): return sorted(os.listdir(self.place.path('sets')))


@pytest.fixture
def sets(place, call): return Datasets(place, call)


@pytest.mark.parametrize('name', ['fsync', 'rename', 'renameat2', 'remove'])
def test_death_leaves_the_old_or_the_new_dataset(sets, name):
    """At every death the old or the new dataset is complete under its name."""
    for count in range(1, 20):
        sets.reset()
        done = sets.convert(16, '--force', env={'FAULT': '%s:%d:before' % (name, count)})
        assert sets.records() in (8, 16), (count, done.returncode)
        if done.returncode == 0: break
        assert done.returncode == ENDED, done.stderr
    assert done.returncode == 0 and sets.records() == 16


def test_death_without_exchange_loses_no_dataset(sets, fails):
    """Without RENAME_EXCHANGE the old dataset may have a temporary name only. A reader reports how to restore it, and
    the next conversion restores it."""
    lost, exchanges = 0, 'renameat2:1:failon:%d' % errno.EINVAL
    for name in ('fsync', 'rename', 'remove'):
        for count in range(1, 20):
            sets.reset()
            done = sets.convert(16, '--force', env={'FAULT': '%s,%s:%d:before' % (exchanges, name, count)})
            if sets.records() is None:
                lost += 1
                fails(5, 'mean', 'sets/db', messages=['mv sets/db.tmp.old sets/db'])
            again = sets.convert(16)
            assert again.returncode == 5 and 'exists already' in again.stderr, again.stderr
            assert sets.records() in (8, 16), (name, count)
            assert 'db.tmp.old' not in sets.names()
            if done.returncode == 0: break
        assert done.returncode == 0 and sets.records() == 16
    assert lost == 1


def test_failing_sync_keeps_the_old_dataset(sets):
    """A conversion fails if its dataset may not be on the disk."""
    for count in range(1, 20):
        sets.reset()
        done = sets.convert(16, '--force', env={'FAULT': 'fsync:%d:failon:%d' % (count, errno.EIO)})
        if done.returncode == 0: break
        assert done.returncode == 5 and 'Input/output error' in done.stderr, (done.returncode, done.stderr)
        assert sets.records() == 8 and sets.names() == ['db'], (count, sets.names())
    assert done.returncode == 0 and count > 2, count


@pytest.mark.parametrize('name', ['ftruncate', 'fsync', 'write', 'read'])
def test_interrupted_calls_are_repeated(place, call, name):
    """A call that a signal interrupts (EINTR) is not an error."""
    log = place.path('calls.log')
    for count in range(1, 30):
        if os.path.exists(log): os.remove(log)
        done = call('mean', 'train_lmdb', '-o', 'mean.binaryproto', '--force', env={
            'FAULT': '%s:%d:fail:%d' % (name, count, errno.EINTR), 'FAULT_UNDER': place.name, 'FAULT_LOG': log})
        assert done.returncode == 0, (count, done.returncode, done.stderr)
        with open(log) as file:
            if 'fired ' not in file.read(): break
    assert name == 'read' or count > 1


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


def test_a_pipe_in_place_of_a_file_is_an_error(place, call, fails):
    """A pipe without a writer in place of any file is an immediate error."""
    path, limit = place.path, 20
    pipe(path('pipe'))
    messages = ['pipe', 'not a regular file']
    place.write('deploy.prototxt', '''layer { name: "data" type: "Input" top: "data"
  input_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 2 } }\n''')
    fixtures.pgm(path('image.pgm'), 4, 4)
    fixtures.caffemodel(path('good.caffemodel'), fixtures.layer_weights(
        'ip', 'InnerProduct', fixtures.blob([2, 16], [0.0] * 32), fixtures.blob([2], [0.0] * 2)))
    classify = ('classify', '--model=deploy.prototxt', '--weights=good.caffemodel')
    assert call(*classify, 'image.pgm', '--scale=1').returncode == 0
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
            done = call(*words, limit=limit)
            reported = done.returncode in (4, 5) and all(text in done.stderr for text in messages)
            assert reported, (name, words, done.returncode, done.stderr)
    for code, words in ((5, ('mean', 'piped_lmdb')), (5, ('convert', 'leveldb', 'piped_leveldb', '-o', 'x')),
                        (5, ('train', '--solver=solver.prototxt', '--weights=pipe')),
                        (5, ('train', '--solver=solver.prototxt', '--snapshot=pipe')),
                        (5, ('convert', 'weights', 'pipe', '--list')),
                        (5, ('convert', 'idx', 'pipe', 'pipe', '-o', 'x')),
                        (5, ('convert', 'cifar', 'pipe', '-o', 'x')), (5, ('upgrade', 'pipe', 'x')),
                        (5, ('check', 'pipe')),
                        (5, classify + ('pipe',)), (5, classify + ('image.pgm', '--mean=pipe'))):
        fails(code, *words, messages=messages, limit=limit)
    place.clear()
    os.mkfifo(path('snap_iter_9.solverstate'))
    done = call('train', '--solver=solver.prototxt', '--snapshot=auto', '--set', 'solver.max_iter=2', limit=limit)
    assert done.returncode == 0 and 'training starts from the beginning' in done.stderr, done.stderr[-2000:]
    place.clear()


def test_a_solver_may_come_from_a_pipe(place, call):
    """A solver may come from a pipe with a writer, such as a shell's <(...)."""
    text = open(place.path('solver.prototxt')).read().replace('max_iter: 40', 'max_iter: 2')
    done = call('train', '--solver=/dev/stdin', input=text)
    assert done.returncode == 0 and 'Optimization Done.' in done.stderr, done.stderr[-2000:]

def wait_until_asleep(pid, seconds=10):
    """Waits until the process has slept for 0.3 s."""
    until, quiet = time.monotonic() + seconds, 0
    while quiet < 6:
        assert time.monotonic() < until, 'the process does not sleep'
        time.sleep(0.05)
        with open('/proc/%d/stat' % pid) as file: quiet = quiet + 1 if file.read().rpartition(') ')[2][0] == 'S' else 0


@pytest.mark.parametrize('number, code', [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_one_signal_ends_a_wait_for_a_net(place, number, code):
    """One signal ends a training that waits for a net from a pipe, since there is nothing to save."""
    pipe(place.path('pipe'))
    waiting = subprocess.Popen([place.exe, 'train', '--solver=solver.prototxt', '--set', 'solver.net=pipe'],
                               cwd=place.name, stderr=subprocess.PIPE, text=True)
    for line in waiting.stderr:
        if 'Creating training net' in line: break
    wait_until_asleep(waiting.pid)
    waiting.send_signal(number)
    assert waiting.wait(10) == code


# Descriptors, disks, limits.

def metrics_of(place, name='metrics.jsonl'):
    return [json.loads(line) for line in open(place.path(name))]


def test_closed_descriptors(place):
    """Files that the program opens do not become stdin, stdout or stderr."""
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
    assert closed.returncode == 5, 'unwritable results are an error'


def test_full_disk_cuts_no_line_of_metrics(place, call):
    """The file ends with a complete line, and the warning has the system's reason."""
    flags = ('train', '--solver=solver.prototxt', '--set', 'solver.snapshot=0', '--set',
             'solver.snapshot_after_train=false')
    place.write('metrics.jsonl', '')
    assert call(*flags, '--metrics=metrics.jsonl').returncode == 0
    lines = open(place.path('metrics.jsonl')).read().splitlines(True)
    for size in range(len(lines[0]) + 5, len(''.join(lines)) - 10, 37):
        place.write('metrics.jsonl', '')
        done = call(*flags, '--metrics=metrics.jsonl',
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        reported = 'metrics are lost: cannot write to metrics.jsonl: File too large' in done.stderr
        assert done.returncode == 0 and reported, done.stderr[-2000:]
        assert open(place.path('metrics.jsonl')).read().endswith('}\n') and len(metrics_of(place)) >= 1
    done = call(*flags, '--metrics=/dev/full')
    reported = 'cannot write to /dev/full: No space left on device' in done.stderr
    assert done.returncode == 0 and reported, done.stderr[-2000:]


def test_threads_that_cannot_be_made(call):
    """A thread that cannot be created is exit 6 with a hint."""
    for count in (1, 2, 3, 4, 5, 6, 8, 12, 20, 50, 200):
        done = call('train', '--solver=solver.prototxt', '--threads=3', '--data-threads=2',
                    env={'FAULT': 'thread:%d:failon:%d' % (count, errno.EAGAIN)})
        if done.returncode == 0: break
        assert done.returncode == 6, (count, done.returncode, done.stderr[-2000:])
        assert 'thread' in done.stderr and 'hint: ' in done.stderr and 'ulimit -u' in done.stderr, done.stderr[-2000:]
    assert count > 5 and done.returncode == 0, (count, done.returncode)


def test_address_space_limits_memory(place, fails):
    """`ulimit -v` limits the available memory."""
    place.write('large.prototxt', '''
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 1 dim: 50000 } } }
layer { name: "b" type: "InnerProduct" bottom: "a" top: "b" inner_product_param { num_output: 10000 } }\n''')
    limit = 1500 << 20
    stderr = fails(6, 'time', '--model=large.prototxt', '--phase=TEST', messages=['not enough memory'],
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    available = re.search(r'(\d+) MiB are needed, (\d+) MiB are available', stderr)
    assert available and int(available[2]) < limit >> 20 < int(available[1]), stderr
