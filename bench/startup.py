"""Mode `startup`: seconds from fork to the end of the first training step, of `cortado train` on random data."""
import os
import shutil
import subprocess
import time

import nets
import stats
import train
from worker import Worker, WorkerEnded

RUNS = 5
SOLVER = '''net: "%s"
base_lr: 0.001
momentum: 0.9
weight_decay: 0.0005
lr_policy: "fixed"
max_iter: 1
display: 0
snapshot_after_train: false
snapshot_prefix: "%s"
'''


def first_step(command, env):
    """Seconds until `cortado train` reports the end of one iteration."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    seconds, said = None, []
    for line in process.stderr:
        said.append(line)
        if 'Optimization Done' in line:
            seconds = time.perf_counter() - start
    if process.wait() or seconds is None:
        raise WorkerEnded(' '.join(said[-2:]).strip())
    return seconds


def ours(options, folder, name, batch):
    """Seconds of runs without the cached kernel choices, and of as many with them, alternately: otherwise a virtual
    machine's host may reclaim free memory, and getting it back takes longer than the run."""
    net = nets.write(folder + '/dummy.prototxt', nets.training(name, batch, source='DummyData'))
    solver = nets.write(folder + '/solver.prototxt', SOLVER % (net, folder + '/snapshot'))
    cache = folder + '/cache'
    env = dict(os.environ, XDG_CACHE_HOME=cache, OMP_NUM_THREADS=str(options.threads))
    command = [options.bin + '/cortado', 'train', '--solver=' + solver, '--threads=%d' % options.threads]
    cold = []
    for _ in range(RUNS):
        shutil.rmtree(cache, ignore_errors=True)
        forget(options.bin + '/cortado')
        cold.append(first_step(command, env))
    return cold, [first_step(command, env) for _ in range(RUNS)]


def forget(path):
    """Drops the file from the page cache."""
    with open(path, 'rb') as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def help_seconds(options):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([options.bin + '/cortado', '--help'], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return stats.median(times)


def torch_seconds(command, options):
    start = time.perf_counter()
    with Worker('', command, options.threads) as worker:
        worker.greet().step(1)
        return time.perf_counter() - start, worker.name


def measure(options, folder, name, tell):
    batch = nets.training_batch(name)
    cold, warm = ours(options, folder, name, batch)
    result = {'mode': 'startup', 'net': name, 'batch': batch, 'cold_s': stats.median(cold),
              'warm_s': stats.median(warm), 'help_s': help_seconds(options), 'runs': {'cold': cold, 'warm': warm}}
    ours_command, peer, init = train.commands(options, folder, name, batch)
    with Worker('', ours_command(init), options.threads) as writer:
        writer.greet()
    try:
        times = [torch_seconds(peer('contiguous'), options) for _ in range(RUNS)]
        result.update(peer=times[0][1], peer_s=stats.median([seconds for seconds, _ in times]))
    except WorkerEnded as reason:
        tell('PyTorch: skipped: %s' % reason)
    return [result]
