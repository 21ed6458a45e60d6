"""Interleaved timing of our worker and its peers."""
import time

import machine
import stats

REST = 0.06  # seconds; ONNX Runtime's threads spin for about 50 ms after a request


def count_for(worker, seconds):
    """The number of steps that take about this time."""
    worker.step(1)
    return max(1, round(seconds / worker.step(1)[0]))


def fastest(workers, blocks=3, seconds=0.2):
    """The worker with the smallest median over a few interleaved blocks, and all medians in ms; closes the others."""
    counts = {worker: count_for(worker, seconds) for worker in workers}
    times = {worker: [] for worker in workers}
    for _ in range(blocks):
        for worker in workers:
            times[worker].append(awake(worker).step(counts[worker])[0])
    best = min(workers, key=lambda worker: stats.median(times[worker]))
    for worker in workers:
        if worker is not best:
            worker.close()
    return best, {worker.setting: 1e3 * stats.median(times[worker]) for worker in workers}


def awake(worker):
    """Waits until the threads of the others are at rest, then runs a step that is not timed: caches are the worker's
    own again."""
    time.sleep(REST)
    worker.step(1)
    return worker


def block(worker, count, values):
    awake(worker)
    before = worker.cpu_seconds()
    seconds, told = worker.step(count)
    values.extend(told)
    return seconds, (worker.cpu_seconds() - before) / count


def rounds(ours, peer, count, seconds):
    """Runs `count` rounds of ours-peer-peer-ours, up to twice as many if CPU time is stolen; also returns all steps'
    values."""
    ours_steps, peer_steps = count_for(ours, seconds), count_for(peer, seconds)
    done, told = [], {'ours': [], 'peer': []}
    while len([r for r in done if r['steal'] <= stats.MOST_STEAL]) < count and len(done) < 2 * count:
        before = machine.ticks()
        a = block(ours, ours_steps, told['ours'])
        b = block(peer, peer_steps, told['peer'])
        c = block(peer, peer_steps, told['peer'])
        d = block(ours, ours_steps, told['ours'])
        steal = machine.steal_since(before)
        done.append({'ours': [a[0], d[0]], 'peer': [b[0], c[0]], 'cpu': [a[1] + d[1], b[1] + c[1]], 'steal': steal,
                     'load': machine.load(), 'peak': ours.ask('peak')[0]})
    return done, told
