#!/usr/bin/env python3
"""Measures Cortado against its peers on this machine's CPU, interleaved in one run.

  train       time of a training step (forward, backward, update) against PyTorch, eager and compiled
  inference   time of a request, batch 1 and 8, against PyTorch (traced, compiled), ONNX Runtime, OpenVINO and ncnn;
              outputs compared; on 8-bit integers (--precision=int8) against ONNX Runtime, OpenVINO and our own floats
  trajectory  losses of 20 training steps without Dropout, against PyTorch's
  memory      peak resident memory of training
  startup     seconds to the end of the first training step
  accuracy    of nets for small images after equal times of training on Fashion-MNIST (--seconds); no peer
  time-to-accuracy
              seconds from a program's start until it has learned Fashion-MNIST to an accuracy, against PyTorch
  data        images per second read from JPEGs, with the augmentation of `train` and of `test` instead of nets,
              against PyTorch's DataLoader with torchvision and with turbojpeg

What the figures mean: docs/benchmarks.md. Examples:

  scripts/bench.sh                                         training steps of all nets
  scripts/bench.sh --nets=resnet50 --mode=train,trajectory
  scripts/bench.sh lstm                                    a recurrent layer over sequences of 100 steps
  scripts/bench.sh --mode=inference --json=results.jsonl   keeps every block's time
  scripts/bench.sh resnet50 --precision=bf16               bfloat16 values, against PyTorch's autocast
  scripts/bench.sh --mode=inference --precision=int8       on 8-bit integers
  scripts/bench.sh lenet --contended=1 --no-compile           the speed with one busy process alongside
  scripts/bench.sh --cpu-level=v3                          with AVX2 where the CPU has more
  scripts/bench.sh --mode=data --block=4 --rounds=3        the data layer against DataLoader
  scripts/bench.sh --table=results.jsonl                   Markdown tables of stored results
"""
import argparse
import json
import os
import sys
import tempfile

import accuracy
import infer
import integers
import levels
import loaders
import machine
import memory
import nets
import report
import startup
import time_to_accuracy
import train
from worker import WorkerEnded

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
MODES = {  # name: (function, default nets)
    'train': (train.measure, 'lenet,cifar10_quick,alexnet,googlenet,resnet18,resnet50,vgg16,mobilenet_v1'),
    'trajectory': (train.trajectory, 'lenet,cifar10_quick,alexnet,googlenet,resnet18,resnet50,vgg16,mobilenet_v1'),
    'inference': (infer.measure, 'alexnet,googlenet,resnet50,vgg16,mobilenet_v1'),
    'memory': (memory.measure, 'resnet50,vgg16'),
    'startup': (startup.measure, 'lenet,resnet50'),
    'accuracy': (accuracy.measure, 'resnet18,mobilenet_v2,shufflenet_v2'),
    'time-to-accuracy': (time_to_accuracy.measure, 'lenet'),
    'data': (loaders.measure, 'train,test')}
CPU_PRECISIONS, GPU_PRECISIONS = ('fp32', 'bf16'), ('fp32', 'tf32', 'bf16', 'fp16')
INFERENCE = {'fp32': infer.measure, 'int8': integers.measure}  # by precision


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('net', nargs='*', help='same as --nets')
    parser.add_argument('--mode', default='train', help='comma-separated modes')
    parser.add_argument('--nets', help='comma-separated, of %s; the default depends on the mode' % ', '.join(nets.NETS))
    parser.add_argument('--rounds', type=int, default=15, help='rounds of ours-peer-peer-ours (default: %(default)s)')
    parser.add_argument('--block', type=float, default=0.7, help='seconds of one block (default: %(default)s)')
    parser.add_argument('--threads', type=int, default=len(os.sched_getaffinity(0)),
                        help='threads of each side (default: all CPUs)')
    parser.add_argument('--seconds', type=float, default=180,
                        help='mode accuracy: training time (default: %(default)s)')
    parser.add_argument('--seeds', type=int, default=3, help='mode time-to-accuracy: pairs (default: %(default)s)')
    parser.add_argument('--batch', type=int, help='training batch size (default: the net\'s own)')
    parser.add_argument('--gpu', metavar='N', help='mode train: run both sides on this GPU')
    parser.add_argument('--precision', default='fp32',
                        help='training: fp32 or bf16, on a GPU also tf32 or fp16; mode inference: fp32 or int8 '
                             '(default: %(default)s)')
    parser.add_argument('--cpu-level', choices=levels.ORDER,
                        help='limit both sides to these instructions: x86-64-v2, v3 (AVX2), v4 (AVX-512), or AMX')
    parser.add_argument('--no-compile', action='store_true', help='skip torch.compile, which takes minutes')
    parser.add_argument('--compile-limit', type=float, default=180,
                        help='time limit of torch.compile in seconds (default: %(default)s)')
    parser.add_argument('--contended', type=int, metavar='N', default=0,
                        help='modes train, inference: also measure both sides with N busy processes')
    parser.add_argument('--alone', action='store_true', help='also time both sides of a training step alone')
    parser.add_argument('--python', default=sys.executable, help='a Python with the peers installed')
    parser.add_argument('--bin', default=nets.ROOT + '/build/bin', help='folder of the programs')
    parser.add_argument('--json', help='append one line for each measurement to this file')
    parser.add_argument('--table', metavar='FILE', help='print tables of this file, without measuring')
    options = parser.parse_args()
    options.scripts = SCRIPTS
    options.nets = ','.join(options.net + ([options.nets] if options.nets else []))
    for mode in options.mode.split(','):
        if mode not in MODES:
            parser.error('unknown mode %s; the modes are %s' % (mode, ', '.join(MODES)))
        allowed = INFERENCE if mode == 'inference' else GPU_PRECISIONS if options.gpu else CPU_PRECISIONS
        if options.precision not in allowed:
            parser.error('precision %s is not supported in mode %s' % (options.precision, mode))
    known = loaders.PIPELINES if options.mode == 'data' else nets.NETS
    for name in options.nets.split(',') if options.nets else []:
        if name not in known:
            parser.error('unknown net %s; mode %s has %s' % (name, options.mode, ', '.join(known)))
    own = levels.own()
    if options.cpu_level and levels.is_below(own, options.cpu_level):
        parser.error('this CPU does not have level %s, only %s' % (options.cpu_level, own))
    options.held = bool(options.cpu_level) and levels.is_below(options.cpu_level, own)
    return options


def run(options, mode, name):
    measure = INFERENCE[options.precision] if mode == 'inference' else MODES[mode][0]
    tell = lambda text: print('%s %s: %s' % (mode, name, text), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            results = measure(options, folder, name, tell)
        except WorkerEnded as reason:
            tell('not measured: %s' % reason)
            return
    if results is None:
        tell('not measured: no peer is available')
    for result in results or []:
        report.show(result)
        if options.json:
            with open(options.json, 'a') as file:
                file.write(json.dumps(dict(result, **machine.description(options))) + '\n')


def main():
    options = parse_options()
    if options.table:
        print(report.tables(options.table))
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])  # workers inherit it
    level = '-' + options.cpu_level if options.held else ''
    # Keeps torch.compile's cache in the build folder, because compiling takes minutes.
    os.environ.setdefault('TORCHINDUCTOR_CACHE_DIR', nets.ROOT + '/build/bench-inductor' + level)
    if options.cpu_level:
        os.environ.update(levels.environment(options.cpu_level))
    for mode in options.mode.split(','):
        for name in (options.nets or MODES[mode][1]).split(','):
            run(options, mode, name)


main()
