"""Mode `accuracy`: the accuracy of nets for small images on Fashion-MNIST after equal training times.

First a step is timed, from which --seconds determines the number of iterations. The rate decays from 0.05 to 0."""
import json
import os
import subprocess
import time

import nets

SOLVER = '''net: "%s"
base_lr: 0.05
momentum: 0.9
weight_decay: 0.0001
lr_policy: "poly"
power: 1
max_iter: %d
display: 0
random_seed: 1
snapshot_prefix: "%s"
'''


def run(options, command, *words):
    """Runs the program in the repository's root, where the models' paths start; returns its output."""
    line = [options.bin + '/cortado', command, '--quiet', '--threads=%d' % options.threads, *words]
    return subprocess.run(line, cwd=nets.ROOT, check=True, capture_output=True, text=True).stdout


def measure(options, folder, name, tell):
    net = 'models/%s/fashion_mnist.prototxt' % name
    if not os.path.isdir(nets.ROOT + '/data_sets/fashion_mnist_train_lmdb'):
        tell('not measured: data_sets/ is missing; run scripts/quickstart.sh')
        return []
    step = json.loads(run(options, 'time', '--model=' + net, '--phase=TRAIN', '--iterations=20', '--json'))
    batch = 64
    iterations = int(options.seconds * 1e3 / step['both']['median_ms'])
    prefix = folder + '/' + name
    solver = nets.write(folder + '/solver.prototxt', SOLVER % (net, iterations, prefix))
    begin = time.perf_counter()
    run(options, 'train', '--solver=' + solver)
    seconds = time.perf_counter() - begin
    weights = '%s_iter_%d.caffemodel' % (prefix, iterations)
    scores = json.loads(run(options, 'test', '--model=' + net, '--weights=' + weights, '--iterations=100', '--json'))
    return [{'mode': 'accuracy', 'net': name, 'batch': batch, 'seconds': seconds, 'iterations': iterations,
             'accuracy': scores['outputs']['accuracy'], 'loss': scores['outputs']['loss'],
             'parameters': json.loads(run(options, 'summary', '--model=' + net, '--json'))['total_params']}]
