#!/usr/bin/python3
"""Runs the checks and measurements that need a GPU. Most of them also run on the simulated device.

There are three stages, the most important first. Each stage and each step has a time limit.
  1  correctness and speed, at most 5 minutes
     devices    the GPU and the CUDA libraries; without a GPU the check ends here
     tests      one kernel, a few layers, training steps against the CPU's references
     copy       memory bandwidth, the upper bound of the other measurements
     graph      trainings with CUDA graphs and with single launches write the same bytes
     step       ResNet-50's training step in fp16, batch 256, with CUDA graphs and with --eager
     time       the same step by layer
  2  choice of kernels, at most 6 minutes
     tune       measures every candidate kernel
     step       the training step again, with the chosen kernels
     decode     a dataset of JPEGs, decoded by nvJPEG and by the CPU: reading batches, and a training
     ncu        memory throughput of BatchNorm's kernels
  3  all other checks
     tests      all tests, in several processes
     graph      three more trainings
     parity     recorded trainings of BVLC Caffe: twelve in fp32 and fp16, then all in each precision
     resume     trainings that are killed and resumed write the same bytes
     sanitizer  tests of kernels and layers under compute-sanitizer (memcheck)
     bench      training steps against PyTorch's, channels last, mixed precision: eager, then compiled

A failed step does not stop the others. A step that exceeds its limit is killed. The table is rewritten after each row;
a row's last column says what to do next. Exits 1 if a step failed. --part=tests runs the tests of each stage.
"""
import argparse
import os
import sys
import tempfile
import time

import parts
from runs import Check

STAGES = {1: 300, 2: 360, 3: 570}  # seconds
SIMULATED = 4  # factor of all limits on the simulated device, whose work the CPU does
AFTER = {1: 'run gpu_check.sh --stage=2', 2: 'see kernels with a low memory throughput; then run --stage=3',
         3: 'add the table to docs/gpu-log.md'}
FEW_LAYERS = 'ReLU.*:Eltwise.*:Convolution.*:InnerProduct.*'
SANITIZED = ['Reorder.*:Pool.*:Lrn.*:BatchNorm.*', 'Pooling.*:Eltwise.*:Concat.*:SoftmaxWithLoss.*:Scale.*:Mix.*',
             'Convolution.*:InnerProduct.*:Lstm.*:DeviceTraining.LearnsWhatTheCpuLearns']
BENCHES = [  # (net, batch, precision)
    ('resnet50', 256, 'fp16'), ('resnet50', 256, 'bf16'), ('lenet', 64, 'fp32'), ('cifar10_quick', 100, 'fp32')]


def steps(options):
    """Yields (stage, part, seconds, function, arguments...) in the order of running, after `devices`."""
    yield 1, 'tests', 40, parts.tests, 'one kernel', 'Reorder.*'
    yield 1, 'copy', 30, parts.copy
    yield 1, 'tests', 60, parts.tests, 'a few layers', FEW_LAYERS
    yield 1, 'tests', 60, parts.tests, 'training', 'DeviceTraining.*'
    yield 1, 'graph', 40, parts.graph, 'conv_1x1_stack', 'resblock'
    yield 1, 'step', 60, parts.step, 'graph'
    yield 1, 'step', 60, parts.step, 'eager', '--eager'
    yield 1, 'time', 60, parts.layer_times
    yield 2, 'tune', 200, parts.tune
    yield 2, 'step', 60, parts.tuned_step
    yield 2, 'decode', 60, parts.decode
    yield 2, 'ncu', 120, parts.ncu
    # A bundle has no OpenCV, which reads films.
    films = '' if os.path.exists(options.bin + '/libcortado_video.so') else '-VideoDataFilms.*'
    yield 3, 'tests', 240, parts.tests, 'all', '*' + films, options.jobs
    yield 3, 'graph', 60, parts.graph, 'lstm', 'solver_iter_size', 'transform_mean_value'
    for precision in 'fp32', 'fp16':
        yield 3, 'parity', 60, parts.parity, precision, parts.TWELVE
    for precision in 'fp32', 'tf32', 'bf16', 'fp16':
        yield 3, 'parity', 120, parts.parity, precision
    for precision in 'fp32', 'fp16':
        yield 3, 'resume', 120, parts.resume, precision
    for chosen in SANITIZED:
        yield 3, 'sanitizer', 60, parts.sanitizer, chosen
    for net in BENCHES:
        yield 3, 'bench', 90, parts.bench, *net, '--no-compile'
    for net in BENCHES:
        yield 3, 'bench', 200, parts.bench, *net


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--gpu', default='0', help="the GPU's number, or 'simulated' (default: %(default)s)")
    parser.add_argument('--stage', default='1,2,3', help='stages, separated by commas (default: %(default)s)')
    parser.add_argument('--part', help='parts of these stages, separated by commas (default: all)')
    parser.add_argument('--nets', help='nets of the part bench, separated by commas, of %s (default: all)' % ', '.join(
        sorted({net for net, _, _ in BENCHES})))
    parser.add_argument('--limit', type=float, help='total limit in seconds (default: the sum of the stages\' limits)')
    parser.add_argument('--jobs', type=int, default=min(16, len(os.sched_getaffinity(0))),
                        help='parallel processes of tests and parity (default: %(default)s)')
    parser.add_argument('--bin', default=str(parts.ROOT / 'build/bin'), help='the folder of the programs')
    parser.add_argument('--python', default=sys.executable, help='a Python with PyTorch, for the part bench')
    parser.add_argument('--cache', help='the folder of the kernel choices (default: a temporary folder)')
    parser.add_argument('--log', help='append all output to this file')
    parser.add_argument('--out', help='write the table, as Markdown, to this file')
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    options.hints = parts.HINTS
    known = ['devices'] + sorted({part for _, part, *_ in steps(options)})
    options.parts = options.part.split(',') if options.part else known
    for part in options.parts:
        if part not in known:
            parser.error('--part %s is unknown; the parts are %s' % (part, ', '.join(known)))
    if not set(options.stage.split(',')) <= {str(stage) for stage in STAGES}:
        parser.error('--stage %s is unknown; the stages are 1, 2 and 3' % options.stage)
    options.stages = sorted({int(stage) for stage in options.stage.split(',')})
    options.patience = SIMULATED if parts.simulated(options) else 1
    options.limit = options.limit or options.patience * sum(STAGES[stage] for stage in options.stages)
    return options


def run_stage(check, options, stage):
    begin = time.monotonic()
    chosen = [step for step in steps(options) if step[0] == stage and step[1] in options.parts]
    for _, part, seconds, function, *arguments in chosen:
        check.begin_step(options.patience * seconds)
        try:
            function(check, options, *arguments)
        except Exception as fault:  # an error in this script: continue with the other parts
            check.add(part, '', 'FAILED', repr(fault), time.monotonic(), 'fix this error in scripts/gpu')
    if chosen and not options.part:
        failed = [row for row in check.failed() if row[0] == str(stage)]
        check.add('stage', 'all parts', '%d failed' % len(failed) if failed else 'ok', '', begin,
                  failed[0][6] if failed else AFTER[stage])


def main():
    options = parse_options()
    check = Check(options)
    with tempfile.TemporaryDirectory() as folder:
        options.cache = os.path.abspath(options.cache or folder)
        check.begin_stage(options.stages[0], options.patience * STAGES[options.stages[0]])
        check.begin_step(30)
        if parts.devices(check, options):
            for stage in options.stages:
                if stage != options.stages[0]:
                    check.begin_stage(stage, options.patience * STAGES[stage])
                run_stage(check, options, stage)
    sys.exit(bool(check.failed()))


main()
