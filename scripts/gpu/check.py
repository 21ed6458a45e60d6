#!/usr/bin/python3
"""Runs on a GPU (or, as far as there is a sense in it, on the simulated device) what only a device can show.

Three stages, the most telling first; each has its limit, and so has each step in it:
  1  at most 5 minutes: is it right at all, and how fast
     devices    what is here, and the libraries that were found; without the GPU nothing else is run
     tests      one kernel, a few layers, training steps against the CPU's references
     copy       what the memory gives: the bound of all that follows
     graph      two trainings as CUDA graphs and launched one by one give the same bytes
     step       ResNet-50's training step in fp16, batch 256: our side alone, as graphs and --eager
     time       the same by layers
  2  at most 6 minutes: which engines
     tune       every kernel that could run is measured
     step       again, with what was chosen
     decode     a dataset of JPEGs, decoded by nvJPEG beside the CPU: batches read, a training
     ncu        the share of the memory's throughput that BatchNorm's kernels reach
  3  the rest
     tests      all, in several processes; augmentation among them
     graph      three more
     parity     recorded trainings of the reference implementation: twelve in fp32 and fp16, then all in each precision
     resume     trainings that are killed and go on give the same bytes
     sanitizer  tests of kernels and layers under compute-sanitizer (memcheck)
     bench      training steps beside PyTorch's, channels last, mixed precision: eager, then compiled

What fails does not stop the others, and what does not end in time is ended. The table is written after each line of
it, which names what to do next. Exit code 1 if any failed. --part=tests runs what is so called in any stage.
"""
import argparse
import os
import sys
import tempfile
import time

import parts
from runs import Check

STAGES = {1: 300, 2: 360, 3: 570}  # seconds
SIMULATED = 4  # times all limits: a CPU does a GPU's work there
AFTER = {1: 'gpu_check.sh --stage=2', 2: 'kernels with a small share of the memory\'s throughput; --stage=3',
         3: 'the table to docs/gpu-log.md'}
FEW_LAYERS = 'ReLU.*:Eltwise.*:Convolution.*:InnerProduct.*'
SANITIZED = ['Reorder.*:Pool.*:Lrn.*:BatchNorm.*', 'Pooling.*:Eltwise.*:Concat.*:SoftmaxWithLoss.*:Scale.*:Mix.*',
             'Convolution.*:InnerProduct.*:Lstm.*:DeviceTraining.LearnsWhatTheCpuLearns']
BENCHES = [  # (net, batch, precision): what the goals speak of
    ('resnet50', 256, 'fp16'), ('resnet50', 256, 'bf16'), ('lenet', 64, 'fp32'), ('cifar10_quick', 100, 'fp32')]


def steps(options):
    """(stage, part, seconds, function, its arguments) in the order of running; after `devices`."""
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
    yield 3, 'tests', 240, parts.tests, 'all', '*', options.jobs
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
    parser.add_argument('--gpu', default='0', help="its number, or 'simulated' (default: %(default)s)")
    parser.add_argument('--stage', default='1,2,3', help='one or several, separated by commas (default: %(default)s)')
    parser.add_argument('--part', help='one or several of those above, separated by commas, of these stages')
    parser.add_argument('--nets', help='of the bench: %s' % ', '.join(sorted({net for net, _, _ in BENCHES})))
    parser.add_argument('--limit', type=float, help='seconds for all of it (default: the stages\' together)')
    parser.add_argument('--jobs', type=int, default=min(16, len(os.sched_getaffinity(0))),
                        help='processes side by side, of tests and parity (default: %(default)s)')
    parser.add_argument('--bin', default=str(parts.ROOT / 'build/bin'), help='where the programs are')
    parser.add_argument('--python', default=sys.executable, help='a Python that has PyTorch, for bench')
    parser.add_argument('--cache', help='where choices of kernels are kept (default: a folder that goes at the end)')
    parser.add_argument('--log', help='append all output to this file')
    parser.add_argument('--out', help='write the table, as Markdown, to this file')
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    options.hints = parts.HINTS
    known = ['devices'] + sorted({part for _, part, *_ in steps(options)})
    options.parts = options.part.split(',') if options.part else known
    for part in options.parts:
        if part not in known:
            parser.error('no part %s; there are %s' % (part, ', '.join(known)))
    if not set(options.stage.split(',')) <= {str(stage) for stage in STAGES}:
        parser.error('no stage %s; there are 1, 2 and 3' % options.stage)
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
        except Exception as fault:  # of this script's own: the other parts are wanted all the same
            check.add(part, '', 'FAILED', repr(fault), time.monotonic(), 'this is a mistake of scripts/gpu')
    if chosen and not options.part:
        failed = [row for row in check.failed() if row[0] == str(stage)]
        check.add('stage', 'all of it', '%d failed' % len(failed) if failed else 'ok', '', begin,
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
