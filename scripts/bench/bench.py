#!/usr/bin/env python3
"""Times a full training step (forward, backward, update) of Cortado and of PyTorch, interleaved in one run.

    bench.py WORKER [--nets lenet,cifar10_quick,resnet50] [--rounds 15] [--block 0.7] [--threads 2] [--json FILE]

Both sides train the same net from the same weights on the same batch, already in memory; each is a process of its own that
waits on a pipe, and only one ever runs. A round is ours-peer-peer-ours; what is reported is the median over rounds of the
ratio of the times, its spread (quartiles), an ours-against-ours line as noise floor, and our share of the machine's FMA
peak, which is measured between the rounds. PyTorch's memory format is the better of its two, found first.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NETS = {  # name: (batch shape, classes)
    'lenet': ('64x1x28x28', 10), 'cifar10_quick': ('100x3x32x32', 10), 'alexnet': ('32x3x227x227', 1000),
    'googlenet': ('16x3x224x224', 1000), 'resnet18': ('16x3x224x224', 1000), 'resnet50': ('8x3x224x224', 1000),
    'vgg16': ('4x3x224x224', 1000), 'mobilenet_v1': ('8x3x224x224', 1000), 'squeezenet': ('16x3x227x227', 1000),
    'cifar10_full': ('100x3x32x32', 10)}
RATE = '0.001'


class Worker:
    def __init__(self, command, threads):
        # A waiting worker must not spin: it would take the core that is being measured.
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY='passive', GOMP_SPINCOUNT='20000')
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.greeting = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit('bench: a worker ended: ' + ' '.join(self.process.args))
        return line.split()

    def ask(self, text):
        self.process.stdin.write(text + '\n')
        self.process.stdin.flush()
        return [float(word) for word in self.answer()]

    def step(self, count):
        seconds, *losses = self.ask('step %d' % count)
        return seconds / count, losses

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def make_batch(folder, shape, classes):
    dims = [int(d) for d in shape.split('x')]
    random = numpy.random.default_rng(1)
    random.standard_normal(dims, dtype=numpy.float32).tofile(folder + '/data.f32')
    random.integers(0, classes, dims[0]).astype(numpy.float32).tofile(folder + '/label.f32')


def start_workers(options, name, folder):
    shape, classes = NETS[name]
    net = os.path.join(ROOT, 'models', name, 'train_val.prototxt')
    make_batch(folder, shape, classes)
    files = [folder + '/data.f32', folder + '/label.f32', shape, str(options.threads), RATE]
    ours = Worker([options.worker, net, folder + '/init.caffemodel'] + files, options.threads)
    command = [options.python, HERE + '/torch_worker.py', net, folder + '/init.caffemodel'] + files
    peers = {kind: Worker(command + [kind], options.threads) for kind in ('contiguous', 'channels_last')}
    return ours, peers


def best_peer(peers):
    """The faster of the peer's settings, by the median of a few interleaved blocks."""
    times = {kind: [] for kind in peers}
    for _ in range(5):
        for kind, worker in peers.items():
            worker.step(1)
            times[kind].append(worker.step(3)[0])
    best = min(times, key=lambda kind: statistics.median(times[kind]))
    for kind, worker in peers.items():
        if kind != best:
            worker.close()
    return best, peers[best]


def quartiles(values):
    values = sorted(values)
    return values[len(values) // 4], statistics.median(values), values[(3 * len(values)) // 4]


def measure(options, name):
    with tempfile.TemporaryDirectory() as folder:
        ours, peers = start_workers(options, name, folder)
        # The first steps of both, from the same weights: the losses are shown side by side.
        trajectory = [ours.step(1)[1][0] for _ in range(3)]
        peer_trajectory = [peers['contiguous'].step(1)[1][0] for _ in range(3)]
        kind, peer = best_peer(peers)
        flops = float(ours.greeting[2])
        per_block = lambda worker: max(1, round(options.block / worker.step(3)[0]))
        ours_count, peer_count = per_block(ours), per_block(peer)
        rounds = []
        for _ in range(options.rounds):
            a, b, c, d = (ours.step(ours_count)[0], peer.step(peer_count)[0], peer.step(peer_count)[0],
                          ours.step(ours_count)[0])
            rounds.append({'ours': [a, d], 'peer': [b, c], 'peak': ours.ask('peak')[0]})
        memory = ours.ask('memory')[0]
        ours.close()
        peer.close()
    ratios = [sum(r['peer']) / sum(r['ours']) for r in rounds]
    noise = [r['ours'][0] / r['ours'][1] for r in rounds]
    step = statistics.median(t for r in rounds for t in r['ours'])
    peak = statistics.median(r['peak'] for r in rounds)
    return {'net': name, 'batch': int(NETS[name][0].split('x')[0]), 'ours_ms': 1e3 * step,
            'peer': 'PyTorch ' + peer.greeting[1] + ' ' + kind,
            'peer_ms': 1e3 * statistics.median(t for r in rounds for t in r['peer']),
            'ratio': quartiles(ratios), 'a_a': quartiles(noise), 'peak_gflops': peak, 'gflop': flops / 1e9,
            'share_of_peak': flops / step / 1e9 / peak, 'peak_memory_mb': memory,
            'losses': trajectory, 'peer_losses': peer_trajectory, 'rounds': rounds}


def show(result):
    low, median, high = result['ratio']
    print('%-14s batch %-4d ours %8.2f ms   %s %8.2f ms   ratio %.2f [%.2f, %.2f]   A/A %.2f [%.2f, %.2f]   '
          '%.0f %% of %.0f GFLOP/s   %.0f MB' % (
              result['net'], result['batch'], result['ours_ms'], result['peer'], result['peer_ms'], median, low, high,
              result['a_a'][1], result['a_a'][0], result['a_a'][2], 100 * result['share_of_peak'],
              result['peak_gflops'], result['peak_memory_mb']))
    print('%-14s losses ours %s   peer %s' % ('', ' '.join('%.5g' % v for v in result['losses']),
                                              ' '.join('%.5g' % v for v in result['peer_losses'])), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('worker')
    parser.add_argument('--nets', default='lenet,cifar10_quick,resnet50')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--block', type=float, default=0.7, help='seconds of one block')
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('--python', default='/usr/bin/python3', help='a Python that has torch')
    parser.add_argument('--json', help='append one line for each net to this file')
    options = parser.parse_args()
    for name in options.nets.split(','):
        if name not in NETS:
            sys.exit('bench: unknown net %s; there are %s' % (name, ', '.join(NETS)))
        result = measure(options, name)
        show(result)
        if options.json:
            with open(options.json, 'a') as file:
                file.write(json.dumps(result) + '\n')


main()
