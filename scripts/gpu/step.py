#!/usr/bin/python3
"""Measures Cortado's training step with its data in memory, and prints one line.

    step.py --bin=FOLDER --gpu=0 --net=resnet50 --batch=256 --precision=fp16 [--eager] [--choices=FILE] [--seconds=6]
"""
import argparse
import array
import os
import random
import statistics
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT + '/bench')
import nets
from worker import Worker

WARM_UP = 5  # two iterations without a graph, one that is captured, two of the graph
BLOCKS = 5


def write_floats(path, count, value):
    """Writes `count` floats: up to 65521 results of value(), repeated."""
    some = array.array('f', [value() for _ in range(min(count, 65521))])
    with open(path, 'wb') as file:
        while count > 0:
            file.write(some[:count].tobytes())
            count -= len(some)
    return path


def command(options, folder):
    shape = nets.shape(options.net, options.batch)
    draw = random.Random(1)
    count = 1
    for extent in shape:
        count *= extent
    words = [options.bin + '/cortado_bench_train',
             nets.write(folder + '/net.prototxt', nets.training(options.net, options.batch)), '-',
             write_floats(folder + '/data', count, lambda: draw.gauss(0, 1)),
             write_floats(folder + '/label', options.batch, lambda: draw.randrange(nets.NETS[options.net][2])),
             str(options.threads), '0.001', 'gpu=' + options.gpu, 'precision=' + options.precision]
    return words + (['eager'] if options.eager else []) + (
        ['choices=' + options.choices] if options.choices else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', default=ROOT + '/build/bin')
    parser.add_argument('--gpu', default='0')
    parser.add_argument('--net', default='resnet50', choices=sorted(nets.NETS))
    parser.add_argument('--batch', type=int, default=256)
    parser.add_argument('--precision', default='fp16')
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--seconds', type=float, default=6, help='measuring time (default: %(default)s)')
    parser.add_argument('--eager', action='store_true')
    parser.add_argument('--choices', help='the kernel choices that `cortado plan --tune` wrote')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        with Worker('', command(options, folder), options.threads) as worker:
            worker.greet()
            ready = time.monotonic() - begin
            worker.step(WARM_UP)
            count = max(1, round(options.seconds / BLOCKS / worker.step(1)[0]))
            blocks = [worker.step(count) for _ in range(BLOCKS)]
            memory = worker.ask('device-memory')[0]
            faults = [line for line in read(worker.errors) if 'warning' in line.lower() or 'not taken' in line]
    seconds = statistics.median([block[0] for block in blocks])
    print('\n'.join(faults))
    print('%.2f ms, %.0f img/s (blocks %.2f to %.2f ms); start %.1f s, memory %.0f MB, loss %.3f%s' % (
        1e3 * seconds, options.batch / seconds, 1e3 * min(b[0] for b in blocks), 1e3 * max(b[0] for b in blocks),
        ready, memory, blocks[-1][1][-1], '; ' + faults[0][:120] if faults else ''))


def read(file):
    file.seek(0)
    return file.read().splitlines()


main()
