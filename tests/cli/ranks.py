#!/usr/bin/python3
"""Trainings by several processes: the same weights and test scores by every number of ranks and every engine that is
here; killed at random moments, at any rank, and gone on with by other numbers of ranks; how they end.

    ranks.py CORTADO [--kills 3] [--seed N] [--lenet]
"""
import argparse, os, random, shutil, signal, subprocess, time
from workplace import DATA, NET, Workplace

FLAGS = ['--threads=1', '--data-threads=1', '--deterministic', '--stall-limit=60']
MPI = {'openmpi': ['mpirun.openmpi', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1', '-n'],
       'mpich': ['mpirun.mpich', '-n']}
for name in 'OMPI_ALLOW_RUN_AS_ROOT', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': os.environ[name] = '1'

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

def command(place, ranks, engine='shm', *more):
    train = [place.exe, 'train', '--solver=solver.prototxt', *FLAGS, *more]
    if engine in MPI: return MPI[engine] + [str(ranks)] + train
    return train + ['--ranks=%d' % ranks, '--engine=' + engine]

def start(place, ranks, *more, engine='shm'):
    env = dict(os.environ)
    if engine in MPI: env['ASAN_OPTIONS'] = 'detect_leaks=0'  # MPI's libraries are gone when what they kept is found
    words = command(place, ranks, engine, *more)
    return subprocess.Popen(words, cwd=place.name, stderr=subprocess.PIPE, text=True, env=env)

def train(place, ranks, *more, engine='shm'):
    process = start(place, ranks, *more, engine=engine)
    log = process.communicate()[1]
    assert process.returncode == 0, '%d ranks by %s: exit %d\n%s' % (ranks, engine, process.returncode, log[-3000:])
    return log

def weights(place, iters=60): return open(place.path('snap_iter_%d.caffemodel' % iters), 'rb').read()

def engines(place):
    folder = os.path.dirname(os.path.realpath(place.exe))
    for engine in 'gloo', 'openmpi', 'mpich':
        if not os.path.exists('%s/libcortado_%s.so' % (folder, engine)): print('not built here:', engine)
        elif engine in MPI and not shutil.which(MPI[engine][0]): print('not here:', MPI[engine][0])
        else: yield engine

def tests_in(log): return [line.partition('] ')[2] for line in log.splitlines() if 'Test net output' in line]

def check_bits(place):
    log = train(place, 1)
    wanted, tests = weights(place), tests_in(log)
    assert len(tests) == 6, log
    for engine, numbers in [('shm', (2, 3, 4))] + [(engine, (3, 4)) for engine in engines(place)]:
        for ranks in numbers:
            place.clear()
            log = train(place, ranks, engine=engine)
            assert 'is 4 shards by %d ranks' % ranks in log, log
            assert weights(place) == wanted, '%d ranks by %s: other weights' % (ranks, engine)
            assert tests_in(log) == tests, '%d ranks by %s: other scores\n%s' % (ranks, engine, log[-3000:])
            assert 'are dealt out to %d ranks' % ranks in log, log
            print('%d ranks by %s: the same weights and scores' % (ranks, engine))
    return wanted

def rank_processes(parent):
    """The processes of a training's ranks, by rank."""
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

def check_kills(place, wanted, kills, draw):
    """One training after another goes on with what the last one left, each by another number of ranks."""
    place.clear()
    begin = time.monotonic()
    train(place, 2)
    longest, left, rounds = time.monotonic() - begin, kills, 0
    while left:
        place.clear()
        rounds += 1
        ended = False
        while not ended:
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
            ended = process.returncode == 0
            left -= not ended
            assert ended or process.returncode in (137, -9), 'exit %d\n%s' % (process.returncode, log[-2000:])
        assert weights(place) == wanted, 'other weights after kills'
    print('%d kills in %d trainings: the same weights' % (kills, rounds))

def check_stops(place, wanted):
    place.clear()
    process = start(place, 3)
    wait_for_ranks(process, 3)
    while not os.path.exists(place.path('snap_iter_20.solverstate')) and process.poll() is None: time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    log = process.communicate()[1]
    assert process.returncode == 143, (process.returncode, log[-2000:])
    assert 'to resume: cortado train' in log and '--ranks=3' in log, log[-2000:]
    train(place, 2, '--snapshot=auto')
    assert weights(place) == wanted
    print('stopped by a signal, gone on with: the same weights')

def check_standstill(place):
    place.clear()
    FLAGS[-1] = '--stall-limit=2'
    process = start(place, 3)
    found = wait_for_ranks(process, 3)
    while not os.path.exists(place.path('snap_iter_20.solverstate')) and process.poll() is None: time.sleep(0.005)
    os.kill(found[1], signal.SIGSTOP)
    log = process.communicate(timeout=100)[1]
    assert process.returncode == 5, (process.returncode, log[-2000:])
    assert 'rank 1' in log, log[-2000:]
    FLAGS[-1] = '--stall-limit=60'
    print('a rank that stands still: exit 5, and it is named')

def check_mistakes(place):
    for text, code, words in [('shards: 2', 2, '3 ranks for 2 shards'), ('base_lr: 1e20', 7, 'training diverged'),
                              ('net: "missing.prototxt"', 5, 'there is no file missing.prototxt')]:
        place.clear()
        name = text.partition(':')[0]
        lines = [line for line in open(place.path('solver.prototxt')) if not line.startswith(name + ':')]
        place.write('wrong.prototxt', ''.join(lines) + text + '\n')
        done = subprocess.run([place.exe, 'train', '--solver=wrong.prototxt', *FLAGS, '--ranks=3'], cwd=place.name,
                              capture_output=True, text=True, timeout=200)
        assert done.returncode == code, (text, done.returncode, done.stderr[-2000:])
        assert done.stderr.count(words) == 1, (text, done.stderr[-2000:])
    for engine in engines(place):
        place.clear()
        done = subprocess.run(command(place, 3, engine, '--set', 'solver.base_lr=1e20'), cwd=place.name,
                              capture_output=True, text=True, timeout=200)
        assert done.returncode == 7, (engine, done.returncode, done.stderr[-2000:])
        assert done.stderr.count('training diverged') == 1, (engine, done.stderr[-2000:])
    print('mistakes are told once, with their exit codes')

def check_devices(place):
    """The simulated device, whose bytes go by way of the hosts."""
    place.clear()
    train(place, 1, '--gpu=simulated')
    wanted = weights(place)
    for ranks in 2, 4:
        place.clear()
        train(place, ranks, '--gpu=simulated')
        assert weights(place) == wanted, '%d ranks on devices: other weights' % ranks
    place.clear()
    process = start(place, 3, '--gpu=simulated')
    while not os.path.exists(place.path('snap_iter_20.solverstate')) and process.poll() is None: time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    log = process.communicate()[1]
    assert process.returncode == 143, (process.returncode, log[-2000:])
    train(place, 2, '--gpu=simulated', '--snapshot=auto')
    assert weights(place) == wanted, 'stopped on devices: other weights'
    print('on simulated devices: the same weights by 1, 2, 3 and 4 ranks')

def check_batches(place, wanted):
    """--divide-batch of four times the batch is the same training; --scale-lr is the rate by hand."""
    net = open(place.path('net.prototxt')).read()
    place.write('net.prototxt', net.replace('batch_size: 16', 'batch_size: 64', 1))
    place.clear()
    train(place, 2, '--divide-batch')
    assert weights(place) == wanted
    place.write('net.prototxt', net.replace('batch_size: 16', 'batch_size: 18', 1))
    done = subprocess.run(command(place, 2, 'shm', '--divide-batch'), cwd=place.name, capture_output=True, text=True)
    assert done.returncode == 3 and 'net.prototxt:4:' in done.stderr, (done.returncode, done.stderr[-2000:])
    place.write('net.prototxt', net)
    place.clear()
    assert 'base_lr: 0.01 becomes 0.02' in train(place, 2, '--scale-lr=sqrt')
    scaled = weights(place)
    place.clear()
    train(place, 1, '--set', 'solver.base_lr=0.02')
    assert weights(place) == scaled
    print('batches are divided, rates scaled')

def check_local_steps(place):
    """Exchanges after so many updates of each shard: the same by every number of ranks, and after a change of it."""
    solver = open(place.path('solver.prototxt')).read()
    fewer = solver
    for line, other in ('max_iter: 60', 'max_iter: 12'), ('snapshot: 20', 'snapshot: 4'), ('val: 30', 'val: 4'):
        assert line in solver, solver
        fewer = fewer.replace(line, other)
    place.write('solver.prototxt', fewer + 'local_steps: 5\n')
    place.clear()
    log = train(place, 1)
    assert 'is 4 shards of 5 local steps' in log, log
    wanted, tests = weights(place, 12), tests_in(log)
    for ranks in 2, 3, 4:
        place.clear()
        log = train(place, ranks)
        assert weights(place, 12) == wanted and tests_in(log) == tests, '%d ranks: other weights\n%s' % (ranks, log)
    place.clear()
    train(place, 3, '--set', 'solver.max_iter=8')
    train(place, 2, '--snapshot=auto')
    assert weights(place, 12) == wanted
    place.write('solver.prototxt', solver)
    print('local steps: the same weights and scores')

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('cortado')
    parser.add_argument('--kills', type=int, default=3)
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    parser.add_argument('--lenet', action='store_true', help='LeNet with Dropout in place of a smaller net')
    options = parser.parse_args()
    print('seed', options.seed)
    place = Workplace(options.cortado, iters=60, snapshot=20, test_interval=30)
    place.write('net.prototxt', LENET if options.lenet else NET_WITH_STATISTICS)
    place.write('solver.prototxt', open(place.path('solver.prototxt')).read() + 'shards: 4\n')
    wanted = check_bits(place)
    check_devices(place)
    check_stops(place, wanted)
    check_standstill(place)
    check_mistakes(place)
    check_batches(place, wanted)
    check_local_steps(place)
    check_kills(place, wanted, options.kills, random.Random(options.seed))


main()
