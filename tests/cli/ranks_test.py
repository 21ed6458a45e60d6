"""Trainings by several processes: weights and test scores are the same with any number of ranks and every installed
engine, also after kills of random ranks at random times and a resume by another number of ranks. --rounds is the number
of kills; --all repeats the tests with LeNet."""
import os, random, shutil, signal, subprocess, time

import pytest

from tests.cli.workplace import DATA, NET

FLAGS = ['--threads=1', '--data-threads=1', '--deterministic']
MPI = {'openmpi': ['mpirun.openmpi', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1', '-n'],
       'mpich': ['mpirun.mpich', '-n']}
ENGINES = ['gloo', *MPI]

LENET = 'name: "LeNet"\n' + DATA + """layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2" param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 50 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1" param { lr_mult: 1 } param { lr_mult: 2 }
  inner_product_param { num_output: 500 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "drop1" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2" param { lr_mult: 1 } param { lr_mult: 2 }
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip2" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
"""

NET_WITH_STATISTICS = NET.replace('layer { name: "pool"',
                                  'layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }\n'
                                  'layer { name: "pool"')

def pytest_generate_tests(metafunc):
    nets = {'small': NET_WITH_STATISTICS, 'lenet': LENET} if metafunc.config.getoption('--all') else \
        {'small': NET_WITH_STATISTICS}
    if 'net' in metafunc.fixturenames:
        metafunc.parametrize('net', nets.values(), ids=nets, indirect=True, scope='module')


@pytest.fixture(scope='module')
def net(request):
    return request.param


@pytest.fixture(scope='module')
def shared_place(training_folder, net):
    place = training_folder(iters=60, snapshot=20, test_interval=30)
    place.write('net.prototxt', net)
    with open(place.path('solver.prototxt'), 'a') as file: file.write('shards: 4\n')
    return place


@pytest.fixture
def place(shared_place):
    """A training folder with a net and a solver, without snapshots."""
    files = {name: read(shared_place, name).decode() for name in ('net.prototxt', 'solver.prototxt')}
    shared_place.clear()
    yield shared_place
    for name, text in files.items(): shared_place.write(name, text)


@pytest.fixture(scope='module')
def alone(shared_place):
    """The weights and scores of the training by one rank."""
    shared_place.clear()
    tests = scores_in(train(shared_place, 1))
    assert len(tests) == 6
    return weights(shared_place), tests


@pytest.fixture
def need(helper):
    """need('gloo') skips the test if the engine is not installed."""
    def need(engine):
        if engine != 'shm': helper('libcortado_%s.so' % engine)
        if engine in MPI and not shutil.which(MPI[engine][0]): pytest.skip(MPI[engine][0] + ' is not installed')
    return need


def read(place, name):
    with open(place.path(name), 'rb') as file: return file.read()

def weights(place, iters=60): return read(place, 'snap_iter_%d.caffemodel' % iters)

def scores_in(log): return [line.partition('] ')[2] for line in log.splitlines() if 'Test net output' in line]

def start(place, ranks, *more, engine='shm', stall_limit=60):
    words = [place.exe, 'train', '--solver=solver.prototxt', *FLAGS, '--stall-limit=%d' % stall_limit, *more]
    env = dict(os.environ)
    if engine in MPI:
        words = MPI[engine] + [str(ranks)] + words
        # MPI's libraries are unloaded before LeakSanitizer runs, so it cannot suppress their leaks.
        env.update(ASAN_OPTIONS='detect_leaks=0', OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    else: words += ['--ranks=%d' % ranks, '--engine=' + engine]
    return subprocess.Popen(words, cwd=place.name, stderr=subprocess.PIPE, text=True, env=env)

def ended(process, code=0, timeout=200):
    """The process's log, after it has ended with this exit code."""
    log = process.communicate(timeout=timeout)[1]
    assert process.returncode == code, log[-3000:]
    return log

def train(place, ranks, *more, **options): return ended(start(place, ranks, *more, **options))

def rank_processes(parent):
    """The ids of the ranks' processes, by rank."""
    found = {}
    for name in os.listdir('/proc'):
        if not name.isdigit(): continue
        try:
            if int(open('/proc/%s/stat' % name).read().rpartition(')')[2].split()[1]) != parent.pid: continue
            for word in open('/proc/%s/environ' % name).read().split('\0'):
                if word.startswith('CORTADO_RANK='): found[int(word.partition('=')[2])] = int(name)
        except OSError: pass
    return found

def wait_for_ranks(process, ranks):
    while process.poll() is None:
        found = rank_processes(process)
        if len(found) == ranks: return found
        time.sleep(0.002)
    return {}

def wait_for_snapshot(place, process):
    while not os.path.exists(place.path('snap_iter_20.solverstate')) and process.poll() is None: time.sleep(0.005)


@pytest.mark.parametrize('engine, ranks', [('shm', 2), ('shm', 3), ('shm', 4)] +
                         [(engine, ranks) for engine in ENGINES for ranks in (3, 4)])
def test_weights_and_scores_are_equal(place, alone, need, engine, ranks):
    need(engine)
    log = train(place, ranks, engine=engine)
    assert 'is 4 shards by %d ranks' % ranks in log
    assert 'are divided among %d ranks' % ranks in log
    assert weights(place) == alone[0], 'other weights'
    assert scores_in(log) == alone[1], log[-3000:]


def test_simulated_devices_give_equal_weights(place):
    """Simulated devices exchange gradients through host memory."""
    train(place, 1, '--gpu=simulated')
    expected = weights(place)
    for ranks in 2, 4:
        place.clear()
        train(place, ranks, '--gpu=simulated')
        assert weights(place) == expected, '%d ranks on devices: other weights' % ranks
    place.clear()
    process = start(place, 3, '--gpu=simulated')
    wait_for_snapshot(place, process)
    process.send_signal(signal.SIGTERM)
    ended(process, 143)
    train(place, 2, '--gpu=simulated', '--snapshot=auto')
    assert weights(place) == expected, 'stopped on devices: other weights'


def test_stopped_training_resumes_with_other_ranks(place, alone):
    process = start(place, 3)
    wait_for_ranks(process, 3)
    wait_for_snapshot(place, process)
    process.send_signal(signal.SIGTERM)
    log = ended(process, 143)
    assert 'to resume: cortado train' in log and '--ranks=3' in log
    train(place, 2, '--snapshot=auto')
    assert weights(place) == alone[0], 'other weights'


def test_stalled_rank_is_named(place):
    process = start(place, 3, stall_limit=2)
    found = wait_for_ranks(process, 3)
    wait_for_snapshot(place, process)
    os.kill(found[1], signal.SIGSTOP)
    assert 'rank 1' in ended(process, 5, timeout=100)


@pytest.mark.parametrize('text, code, words', [('shards: 2', 2, '3 ranks for 2 shards'),
                                               ('base_lr: 1e20', 7, 'training diverged'),
                                               ('net: "missing.prototxt"', 5, 'cannot find the file missing.prototxt')])
def test_error_is_reported_once(place, text, code, words):
    name = text.partition(':')[0]
    lines = [line for line in open(place.path('solver.prototxt')) if not line.startswith(name + ':')]
    place.write('solver.prototxt', ''.join(lines) + text + '\n')
    assert ended(start(place, 3), code).count(words) == 1


@pytest.mark.parametrize('engine', ENGINES)
def test_divergence_is_reported_once_by_every_engine(place, need, engine):
    need(engine)
    assert ended(start(place, 3, '--set', 'solver.base_lr=1e20', engine=engine), 7).count('training diverged') == 1


def test_divided_batch_is_the_same_training(place, alone):
    """--divide-batch with four times the batch size."""
    net = read(place, 'net.prototxt').decode()
    place.write('net.prototxt', net.replace('batch_size: 16', 'batch_size: 64', 1))
    train(place, 2, '--divide-batch')
    assert weights(place) == alone[0]
    place.write('net.prototxt', net.replace('batch_size: 16', 'batch_size: 18', 1))
    assert 'net.prototxt:4:' in ended(start(place, 2, '--divide-batch'), 3)


def test_scaled_rate_equals_the_same_base_lr(place):
    assert 'base_lr: 0.01 becomes 0.02' in train(place, 2, '--scale-lr=sqrt')
    scaled = weights(place)
    place.clear()
    train(place, 1, '--set', 'solver.base_lr=0.02')
    assert weights(place) == scaled


def test_local_steps_are_equal_by_every_number_of_ranks(place):
    """Ranks exchange weights after `local_steps` updates of each shard, also when the number of ranks changes."""
    solver = read(place, 'solver.prototxt').decode()
    for line, other in ('max_iter: 60', 'max_iter: 12'), ('snapshot: 20', 'snapshot: 4'), ('val: 30', 'val: 4'):
        assert line in solver
        solver = solver.replace(line, other)
    place.write('solver.prototxt', solver + 'local_steps: 5\n')
    log = train(place, 1)
    assert 'is 4 shards of 5 local steps' in log
    expected, tests = weights(place, 12), scores_in(log)
    for ranks in 2, 3, 4:
        place.clear()
        log = train(place, ranks)
        assert weights(place, 12) == expected and scores_in(log) == tests, '%d ranks: other weights\n%s' % (ranks, log)
    place.clear()
    train(place, 3, '--set', 'solver.max_iter=8')
    train(place, 2, '--snapshot=auto')
    assert weights(place, 12) == expected


def test_killed_trainings_resume_with_other_ranks(place, alone, seed, request):
    """Each killed training is resumed by another number of ranks."""
    draw, left = random.Random(seed), request.config.getoption('--rounds') or 3
    begin = time.monotonic()
    train(place, 2)
    longest = time.monotonic() - begin
    while left:
        place.clear()
        finished = False
        while not finished:
            ranks = draw.randint(1, 4)
            process = start(place, ranks, '--snapshot=auto')
            if left and ranks > 1:
                found = wait_for_ranks(process, ranks)
                time.sleep(draw.uniform(0, 0.8 * longest))
                try: os.kill(found.get(draw.randrange(ranks), 0) or process.pid, signal.SIGKILL)
                except ProcessLookupError: pass
            elif left:
                time.sleep(draw.uniform(0, longest))
                process.kill()
            log = process.communicate()[1]
            finished = process.returncode == 0
            left -= not finished
            assert finished or process.returncode in (137, -9), log[-2000:]
        assert weights(place) == alone[0], 'other weights after kills'
