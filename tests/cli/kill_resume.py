#!/usr/bin/python3
"""Training 200 iterations, against being killed at a random moment after the snapshot of iteration 100 and going on
with --snapshot=auto: the weights must be the same bytes. With dropout, shuffle, mirror and random crop.

    kill_resume.py CORTADO [--rounds 3] [--threads 1 2] [--seed N] [--flags="--gpu=0"]
"""
import argparse, os, random, signal, subprocess, time
from workplace import Workplace

FLAGS = []

def command(place, threads, *more):
    return [place.exe, 'train', '--solver=solver.prototxt', '--threads=%d' % threads, '--data-threads=2', *FLAGS, *more]

def weights(place): return open(place.path('snap_iter_200.caffemodel'), 'rb').read()

def train(place, threads, *more):
    done = subprocess.run(command(place, threads, *more), cwd=place.name, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr

def wait_for(path, process):
    while not os.path.exists(path):
        assert process.poll() is None, 'ended before ' + path
        time.sleep(0.001)

def killed_run(place, threads, delay):
    """Kills a training `delay` seconds after iteration 100, or sooner where it ended before; returns where it was
    resumed."""
    while True:
        place.clear()
        process = subprocess.Popen(command(place, threads), cwd=place.name, stderr=subprocess.DEVNULL)
        wait_for(place.path('snap_iter_100.solverstate'), process)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        if process.wait() != 0: break
        delay /= 2
    log = train(place, threads, '--snapshot=auto')
    restored = [l for l in log.split('\n') if 'Restoring previous solver status from' in l]
    assert restored, 'began anew instead of going on'
    return restored[0].rpartition(' ')[2]

def seconds_after_100(place, threads):
    """How long the second half takes: kills are spread over it."""
    place.clear()
    process = subprocess.Popen(command(place, threads), cwd=place.name, stderr=subprocess.DEVNULL)
    wait_for(place.path('snap_iter_100.solverstate'), process)
    begin = time.monotonic()
    assert process.wait() == 0
    return time.monotonic() - begin

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('cortado')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--threads', type=int, nargs='+', default=[1, 2])
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    parser.add_argument('--flags', default='', help='more for `train`')
    options = parser.parse_args()
    FLAGS.extend(options.flags.split())
    draw = random.Random(options.seed)
    place = Workplace(options.cortado, snapshot=20)
    for threads in options.threads:
        half = seconds_after_100(place, threads)
        wanted = weights(place)
        equal = 0
        for _ in range(options.rounds):
            resumed = killed_run(place, threads, draw.uniform(0, half))
            same = weights(place) == wanted
            equal += same
            print('threads %d: killed, resumed from %s: %s' % (threads, resumed, 'equal' if same else 'DIFFERENT'))
        print('threads %d: %d of %d equal (seed %d)' % (threads, equal, options.rounds, options.seed))
        assert equal == options.rounds


main()
