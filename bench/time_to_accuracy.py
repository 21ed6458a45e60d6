"""Mode `time-to-accuracy`: seconds from the start of a program until it reaches a test accuracy on Fashion-MNIST.

Both sides read the same solver and net and begin with the same weights (one file for each seed). They take the same
batches in record order, changed only by scale and mean, use the same rates and test on the whole test set at the same
iterations. The time is from fork to the line with the accuracy, so that loading, planning and compiling count. Ours is
`cortado train` without cached kernel choices; PyTorch's side is torch_fit.py."""
import gzip
import os
import re
import subprocess
import time

import nets
import prototxt
import stats
import train
from prototxt import Quoted, one
from worker import WorkerEnded

RECIPES = {  # net: (file, target, iterations, test interval, initial rate)
    'lenet': ('train_val', 0.89, 2000, 250, 0.05),
    'resnet18': ('fashion_mnist', 0.90, 1200, 100, 0.05)}
SOLVER = '''net: "%s"
test_epoch: true
test_interval: %d
test_initialization: false
base_lr: %g
momentum: 0.9
weight_decay: 0.0005
lr_policy: "poly"
power: 1
max_iter: %d
display: 0
snapshot_after_train: false
snapshot_prefix: "%s"
'''
FASHION_MNIST = '/usr/share/datasets/fashion-mnist'
PARTS = {'train': 'train', 'test': 't10k'}
ITERATION, ACCURACY = re.compile(r'Iteration (\d+), Testing'), re.compile(r'accuracy = ([\d.]+)')


def recipe_net(name, file):
    """The net without mirroring, and with the same rate and decay for all weights, so that both sides are equal."""
    net = nets.read(name, file)
    for layer in net['layer']:
        layer.pop('param', None)
        one(layer, 'transform_param', {}).pop('mirror', None)
        for data in layer.get('data_param', []):
            data['source'] = [Quoted(os.path.join(nets.ROOT, one(data, 'source')))]
    return prototxt.dump(net)


def write_bytes(folder):
    """Writes the dataset as raw bytes for PyTorch; ours is LMDB."""
    for part, prefix in PARTS.items():
        for kind, header, end in ('images', 16, 'idx3-ubyte.gz'), ('labels', 8, 'idx1-ubyte.gz'):
            with gzip.open('%s/%s-%s-%s' % (FASHION_MNIST, prefix, kind, end)) as file:
                values = file.read()[header:]
            with open('%s/%s.%s' % (folder, part, kind), 'wb') as file:
                file.write(values)


def initial_weights(options, folder, solver, seed):
    prefix = '%s/seed%d' % (folder, seed)
    fields = {'max_iter': '0', 'snapshot_after_train': 'true', 'snapshot_prefix': '"%s"' % prefix}
    command = [options.bin + '/cortado', 'train', '--quiet', '--solver=' + solver, '--seed=%d' % seed]
    subprocess.run(command + ['--set=solver.%s=%s' % item for item in fields.items()], check=True, cwd=nets.ROOT,
                   capture_output=True, text=True)
    return prefix + '_iter_0.caffemodel'


class Run:
    """A process that trains until it reaches an accuracy, or to its end. It logs `Iteration N, Testing` and then
    `accuracy = A`."""

    def __init__(self, command, options, target, cache):
        env = dict(os.environ, OMP_NUM_THREADS=str(options.threads), XDG_CACHE_HOME=cache)
        self.start, self.tests, self.name, self.reached = time.perf_counter(), [], '', False
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
        try:
            last = self.watch(process.stdout, target)
            if not self.reached and process.wait():
                raise WorkerEnded(last)
        finally:
            process.kill()
            process.wait()

    def watch(self, lines, target):
        """Reads lines until the accuracy is reached; returns the last one."""
        iteration, line = 0, ''
        for line in lines:
            if line.startswith('PyTorch'):
                self.name = line.strip()
            elif found := ITERATION.search(line):
                iteration = int(found[1])
            elif found := ACCURACY.search(line):
                self.tests.append((time.perf_counter() - self.start, iteration, float(found[1])))
                self.reached = self.tests[-1][2] >= target
            if self.reached:
                break
        return line.strip()

    def told(self):
        seconds, iterations, accuracy = self.tests[-1]
        return {'seconds': seconds, 'iterations': iterations, 'accuracy': accuracy, 'reached': self.reached,
                'tests': self.tests}


class Sides:
    """Our and PyTorch's runs of one recipe; its files and the data are in a folder."""

    def __init__(self, options, folder, name):
        file, self.target, iterations, interval, rate = RECIPES[name]
        self.options, self.folder, self.caches = options, folder, 0
        self.net = nets.write(folder + '/net.prototxt', recipe_net(name, file))
        self.solver = nets.write(folder + '/solver.prototxt',
                                 SOLVER % (self.net, interval, rate, iterations, folder + '/snapshot'))
        write_bytes(folder)

    def run(self, *command):
        """Runs with an empty cache, so that each run chooses its kernels again."""
        self.caches += 1
        return Run(command, self.options, self.target, '%s/cache%d' % (self.folder, self.caches))

    def ours(self, weights):
        return self.run(self.options.bin + '/cortado', 'train', '--solver=' + self.solver, '--weights=' + weights,
                        '--threads=%d' % self.options.threads)

    def peer(self, weights, setting):
        return self.run(self.options.python, self.options.scripts + '/torch_fit.py', self.solver, weights,
                        self.folder, str(self.options.threads), setting)

    def fastest_peer(self, weights, tell):
        """PyTorch's runs by setting, fastest first."""
        runs = {}
        for setting in train.EAGER + ([] if self.options.no_compile else train.COMPILED):
            try:
                runs[setting] = self.peer(weights, setting)
            except WorkerEnded as reason:
                tell('%s: skipped: %s' % (setting, reason))
        return dict(sorted(runs.items(), key=lambda item: (not item[1].reached, item[1].tests[-1][0])))

    def batch(self):
        with open(self.net) as file:
            layers = prototxt.parse(file.read())['layer']
        return next(int(one(one(layer, 'data_param'), 'batch_size')) for layer in layers if nets.is_of(layer, 'TRAIN'))


def missing(name):
    if name not in RECIPES:
        return 'recipes exist for ' + ', '.join(RECIPES)
    if not os.path.isdir(nets.ROOT + '/data_sets/fashion_mnist_train_lmdb') or not os.path.isdir(FASHION_MNIST):
        return 'data_sets/ is missing; run scripts/quickstart.sh'
    return None


def pair(sides, weights, seed, setting):
    """Runs both sides; the first one alternates."""
    run = {'ours': lambda: sides.ours(weights), 'peer': lambda: sides.peer(weights, setting)}
    return {side: run[side]().told() for side in (['peer', 'ours'] if seed % 2 == 0 else ['ours', 'peer'])}


def measure(options, folder, name, tell):
    if missing(name):
        tell('not measured: ' + missing(name))
        return []
    sides = Sides(options, folder, name)
    seeds = {seed: initial_weights(options, folder, sides.solver, seed) for seed in range(1, options.seeds + 1)}
    first = {'ours': sides.ours(seeds[1]).told()}
    tried = sides.fastest_peer(seeds[1], tell)
    if not tried:
        return None
    setting = next(iter(tried))
    pairs = [dict(first, peer=tried[setting].told())]
    pairs += [pair(sides, weights, seed, setting) for seed, weights in seeds.items() if seed > 1]
    ratios = [p['peer']['seconds'] / p['ours']['seconds'] for p in pairs if all(side['reached'] for side in p.values())]
    return [{'mode': 'time-to-accuracy', 'net': name, 'batch': sides.batch(), 'target': sides.target,
             'peer': tried[setting].name, 'setting': setting, 'pairs': pairs, 'ratios': ratios,
             'ratio': stats.median(ratios) if ratios else None,
             'tried_s': {setting: run.tests[-1][0] for setting, run in tried.items()}}]
