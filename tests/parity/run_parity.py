#!/usr/bin/python3
"""Trains small nets from given weights, and compares them with what BVLC Caffe 1.0 learned from the same weights.

    run_parity.py PROGRAM [CASE...] [--jobs=N] [--FLAG...]     default: all cases; runs N of them in parallel; passes
                                                               other flags to the program

A case is a folder with net.prototxt, solver.prototxt, init.caffemodel, expect.caffemodel and expect.json. The script
compares each weight blob's change, |ours - expected| / |expected - initial|, every printed train and test output, and
the scores of `test` on the expected weights. For cases in later.txt the program must instead refuse the net and name
its layer type. parity_test.py runs the cases in pytest.
"""
import array
import concurrent.futures
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCES = {  # precision: (relative to a blob's change, relative to the blob if its change is small, of outputs)
    'fp32': (2e-3, 1e-3, 2e-3), 'tf32': (5e-2, 1e-3, 1e-2), 'fp16': (5e-2, 3e-2, 2e-2), 'bf16': (2e-1, 3e-2, 1e-1)}
BEYOND_FP16 = {  # cases whose results are not compared in fp16
    'resblock': 'its first test divides by statistics that are still zero, which overflows',
    'multinomial': 'gradients of 1 / p overflow until the loss scale fits; their updates are skipped'}
SWITCHES = {  # tolerances of a blob's change if rounding switches a ReLU of one of conv1's four filters
    ('fp16', 'solver_adagrad'): 0.1, ('bf16', 'solver_sgd_plain'): 0.5, ('tf32', 'solver_sgd_plain'): 0.15,
    ('fp16', 'conv_dilated_nobias'): 0.12, ('fp16', 'prelu'): 0.07}
ONE_SAMPLE = 0.13  # tolerance of an accuracy: rounding may change the class of one of eight samples
CASES = sorted(path.parent.name for path in HERE.glob('cases/*/expect.json'))
LATER = dict(line.split() for line in (HERE / 'later.txt').read_text().splitlines() if not line.startswith('#'))


def precision_of(flags):
    return dict(flag.split('=') for flag in flags if '=' in flag).get('--precision', 'fp32')


def fields(message):
    """Yields (number, value) of each field of a serialized protobuf message; fixed and delimited values as bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at:at + size]
        at += size


def of(message, number):
    return [value for key, value in fields(message) if key == number]


def floats(blob):
    values = array.array('f')
    for packed in of(blob, 5):
        values.frombytes(packed)
    return values


def weights(path):
    """{layer: [values of each blob]} of a .caffemodel: net.layer = 100, layer.name = 1, layer.blobs = 7."""
    layers = of(path.read_bytes(), 100)
    blobs = {of(layer, 1)[0].decode(): [floats(blob) for blob in of(layer, 7)] for layer in layers}
    return {name: values for name, values in blobs.items() if values}


def compare_weights(ours, expected, initial, allowed, small):
    """Yields a message for each blob that is missing or differs. A small change is compared with the blob's norm."""
    for layer, blobs in expected.items():
        mine = ours.get(layer, [])
        if [len(b) for b in mine] != [len(b) for b in blobs]:
            yield '%s: blobs of %s values, expected %s' % (layer, [len(b) for b in mine], [len(b) for b in blobs])
            continue
        for k, (got, want, start) in enumerate(zip(mine, blobs, initial[layer])):
            error = math.dist(got, want) / max(math.dist(want, start), small * math.hypot(*want), 1e-12)
            if not error <= allowed:
                yield '%s[%d]: the change is off by %.2g' % (layer, k, error)


def compare_outputs(what, got, expected, precision):
    """`got` and `expected` are lists of (name, value), in the order of printing."""
    def allowed(name, value):
        tolerance, _, of_outputs = TOLERANCES[precision]
        counts = name.startswith('acc') and tolerance > TOLERANCES['fp32'][0]
        return ONE_SAMPLE if counts else of_outputs * max(1, abs(value))

    near = len(got) == len(expected) and all(
        g[0] == e[0] and abs(float(g[1]) - e[1]) <= allowed(*e) for g, e in zip(got, expected))
    return [] if near else ['%s: %s, expected %s' % (what, got, expected)]


def run(program, folder, *arguments):
    done = subprocess.run([program, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120)
    return done.returncode, done.stdout


def end_of(log):
    return '\n'.join('    ' + line for line in log.rstrip().splitlines()[-6:])


def check(program, case, work, flags):
    spec = json.loads((case / 'expect.json').read_text())
    precision = precision_of(flags)
    tolerance, small, _ = TOLERANCES[precision]
    code, log = run(program, work, 'train', '--solver=solver.prototxt', '--weights=init.caffemodel', *flags)
    saved = work / ('out_iter_%d.caffemodel' % spec['iters'])
    if code or not saved.is_file():
        return ['train: exit code %d\n%s' % (code, end_of(log))]
    if precision == 'fp16' and case.name in BEYOND_FP16:
        return []
    expected, initial = weights(case / 'expect.caffemodel'), weights(case / 'init.caffemodel')
    allowed = SWITCHES.get((precision, case.name), tolerance)
    faults = list(compare_weights(weights(saved), expected, initial, allowed, small))
    for kind in 'Train', 'Test':
        printed = re.findall(r'(?m)%s net output #\d+: (\S+) = (\S+)' % kind, log)
        faults += compare_outputs(kind + ' net outputs', printed, spec[kind.lower()], precision)
    code, log = run(program, work, 'test', '--model=net.prototxt', '--weights=expect.caffemodel', '--iterations=3',
                    *flags)
    scores = dict(re.findall(r'(?m)(?:^|\] )(\w+) = ([-+.\w]+)(?: \(\*.*)?$', log))
    after = dict(spec['after'])
    got = [(name, scores.get(name, 'nan')) for name in after]
    return faults + compare_outputs('test', got, list(after.items()), precision)


def check_refused(program, work, kind, flags):
    code, log = run(program, work, 'train', '--solver=solver.prototxt', '--weights=init.caffemodel', *flags)
    if code == 0:
        return ['layer type %s exists now: remove the case from later.txt' % kind]
    if code == 3 and "'%s'" % kind in log:
        return []
    return ['exit code %d, expected 3 naming %s\n%s' % (code, kind, end_of(log))]


def faults_of(program, name, flags=()):
    """Runs a case, with `flags` for the program. Returns messages about its faults."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        work = pathlib.Path(shutil.copytree(HERE / 'cases' / name, root / 'case'))
        shutil.copytree(HERE / 'cases' / 'data', root / 'data')
        return check_refused(program, work, LATER[name], flags) if name in LATER else check(
            program, HERE / 'cases' / name, work, flags)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    given = [argument for argument in sys.argv[2:] if argument.startswith('--')]
    jobs = int(([flag[len('--jobs='):] for flag in given if flag.startswith('--jobs=')] or ['1'])[-1])
    flags = [flag for flag in given if not flag.startswith('--jobs=')]
    cases = [argument for argument in sys.argv[2:] if argument not in given] or CASES
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, faults in zip(cases, pool.map(lambda name: faults_of(program, name, flags), cases)):
            failed += bool(faults)
            print('%-24s %s' % (name, 'FAILED\n  ' + '\n  '.join(faults) if faults else
                                'refused, as expected' if name in LATER else 'ok'), flush=True)
    print('%d of %d cases passed' % (len(cases) - failed, len(cases)))
    sys.exit(bool(failed) or not cases)


if __name__ == '__main__':
    main()
