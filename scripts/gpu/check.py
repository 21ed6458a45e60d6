#!/usr/bin/python3
"""Runs on a GPU (or, without the last two, on the simulated device) what only a device can show, and prints a table.

  devices     what is here, and the libraries that were found; without the GPU nothing else is run
  tests       every kernel, every layer, augmentation and training steps against the CPU's references; a few first
  graph       trainings as CUDA graphs and launched one by one give the same bytes
  parity      recorded trainings of the reference implementation, in fp32, tf32, bf16 and fp16
  resume      trainings that are killed and go on give the same bytes
  sanitizer   tests of kernels and layers under compute-sanitizer (memcheck)
  bench       training steps beside PyTorch's (eager and compiled, channels last, mixed precision)

Parts are run in this order; what fails does not stop the others, and what does not end in time is ended. The table is
written after each line of it, so that what was seen is kept. Exit code 1 if any failed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRECISIONS = ['fp32', 'tf32', 'bf16', 'fp16']
TESTS = [  # (what, tests, seconds): the most telling first
    ('one kernel', 'Reorder.*', 60), ('a few layers', 'ReLU.*:Eltwise.*:Convolution.*:InnerProduct.*', 120),
    ('training', 'DeviceTraining.*', 120), ('augmentation', 'TransformBatch.*:Mix.*', 120), ('all', '*', 300)]
GRAPHS = ['conv_1x1_stack', 'resblock', 'lstm', 'solver_iter_size', 'transform_mean_value']  # of tests/parity/cases
BENCHES = [  # (net, batch, precision): what the goals speak of
    ('resnet50', 256, 'bf16'), ('resnet50', 256, 'fp16'), ('lenet', 64, 'fp32'), ('cifar10_quick', 100, 'fp32')]
MOST_ALONE = 12  # tests that failed are run again, each by itself: one that breaks the device takes others with it


class Check:
    """One part's runs: rows of the table, and the whole output in a log."""

    def __init__(self, options):
        self.options, self.rows, self.name = options, [], ''
        self.end = time.monotonic() + options.limit

    def output(self, command, seconds, cwd=None, **env):
        """(exit code or 'timeout', output) of a command; all that it started ends with it."""
        seconds = min(seconds, self.end - time.monotonic())
        if seconds <= 0:
            return 'no time left', ''
        with tempfile.TemporaryFile() as kept:
            process = subprocess.Popen([str(word) for word in command], stdout=kept, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True, cwd=cwd,
                                       env=dict(os.environ, **env))
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = 'timeout'
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
            kept.seek(0)
            return code, kept.read().decode(errors='replace')

    def run(self, part, name, command, seconds, told=lambda text: '', **env):
        begin = time.monotonic()
        code, text = self.output(command, seconds, **env)
        self.log(part, name, text)
        state = 'not run' if code == 'no time left' else 'ok' if code == 0 else 'FAILED (%s)' % code
        self.add(part, name, state, code if state == 'not run' else told(text), time.monotonic() - begin)
        return code, text

    def add(self, part, name, state, told, seconds):
        self.rows.append((part, name, state, told.replace('|', '/'), '%.0f s' % seconds))
        print('%-10s %-24s %-12s %s (%.0f s)' % (part, name, state, told, seconds), flush=True)
        if self.options.out:
            pathlib.Path(self.options.out).write_text(markdown(self.name, self.rows))

    def log(self, part, name, text):
        if self.options.log:
            with open(self.options.log, 'a') as file:
                file.write('=== %s %s\n%s\n' % (part, name, text))


def gpu_flag(options):
    return '--gpu=' + options.gpu


def test_env(options):
    return {} if options.gpu == 'simulated' else {'CORTADO_TEST_GPU': options.gpu}


def last_line(text):
    return text.strip().splitlines()[-1] if text.strip() else ''


def devices(check, options):
    """False where there is nothing to check."""
    code, text = check.output([options.bin + '/cortado', 'devices', '--json'], 60)
    check.log('devices', '', text)
    here = json.loads(text) if code == 0 else {'gpus': [], 'cuda': []}
    names = [gpu['name'] for gpu in here['gpus'] if str(gpu['index']) == options.gpu]
    check.name = names[0] if names else 'simulated device' if options.gpu == 'simulated' else 'no such GPU'
    found = bool(names) or options.gpu == 'simulated' and code == 0
    told = ', '.join(here['cuda']) if found else last_line(text) if code else check.output(
        [options.bin + '/cortado', 'devices'], 60)[1].split('gpu ')[-1].strip()
    check.add('devices', check.name, 'ok' if found else 'FAILED', told, 0)
    return found


def totals(text):
    ran = re.findall(r'\[==========\] (\d+) tests? from .* ran', text)
    failed = failures(text)
    return '%s, %d failed' % ((ran[0] + ' ran') if ran else 'ended early', len(failed))


def failures(text):
    names = re.findall(r'\[  FAILED  \] (\w+\.\w+)', text)
    return sorted(set(names), key=names.index)


def first_fault(text):
    return (re.findall(r'(?m)^.*(?:exception|rror:|CUDA|cudnn|cublas).*$', text) or
            re.findall(r'(?m)^.*Failure\n.*$', text) or [''])[0].replace('\n', ' ')[:200]


def tests(check, options):
    program = options.bin + '/cortado_device_tests'
    for what, chosen, seconds in TESTS:
        code, text = check.run('tests', what, [program, '--gtest_brief=1', '--gtest_filter=' + chosen], seconds, totals,
                               **test_env(options))
        if code == 0 or code == 'no time left':
            continue
        for name in failures(text)[:MOST_ALONE]:
            alone = [program, '--gtest_brief=1', '--gtest_filter=' + name]
            check.run('tests', name, alone, 30, first_fault, **test_env(options))


def trained(check, options, case, flags):
    """The weights after twenty iterations of a case, and the log."""
    with tempfile.TemporaryDirectory() as folder:
        cases = ROOT / 'tests/parity/cases'
        shutil.copytree(cases / 'data', folder + '/data')
        work = pathlib.Path(shutil.copytree(cases / case, folder + '/case'))
        solver = (work / 'solver.prototxt').read_text()
        (work / 'solver.prototxt').write_text(re.sub(r'\bmax_iter: *\d+', 'max_iter: 20', solver))
        command = [options.bin + '/cortado', 'train', gpu_flag(options), '--solver=solver.prototxt',
                   '--weights=init.caffemodel'] + flags
        code, text = check.output(command, 60, cwd=work)
        check.log('graph', case + ' ' + ' '.join(flags), text)
        saved = sorted(work.glob('*_iter_20.caffemodel'))
        return saved[0].read_bytes() if code == 0 and saved else None, text


def graph(check, options):
    for case in GRAPHS:
        begin = time.monotonic()
        (ours, log), (eager, _) = [trained(check, options, case, flags) for flags in ([], ['--eager'])]
        told = 'a training failed' if ours is None or eager is None else 'DIFFERENT' if ours != eager else (
            'no graph was made' if 'graph could not be made' in log else 'equal')
        check.add('graph', case, 'ok' if told == 'equal' else 'FAILED', told, time.monotonic() - begin)


def parity(check, options):
    for precision in PRECISIONS:
        check.run('parity', precision, [sys.executable, ROOT / 'tests/parity/run_parity.py', options.bin + '/cortado',
                                        gpu_flag(options), '--precision=' + precision], 120, last_line)


def resume(check, options):
    for precision in ['fp32', 'fp16']:
        check.run('resume', precision, [sys.executable, ROOT / 'tests/cli/kill_resume.py', options.bin + '/cortado',
                                        '--rounds=3', '--threads=1', '--flags=%s --precision=%s' % (
                                            gpu_flag(options), precision)], 120, last_line)


def sanitizer(check, options):
    if options.gpu == 'simulated':
        return
    tool = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    if not os.path.exists(tool):
        return check.add('sanitizer', 'memcheck', 'not run', 'there is no compute-sanitizer', 0)
    for chosen in ('Reorder.*:Pool.*:Lrn.*:BatchNorm.*', 'Pooling.*:Eltwise.*:Concat.*:SoftmaxWithLoss.*:Scale.*:Mix.*',
                   'Convolution.*:InnerProduct.*:Lstm.*:DeviceTraining.LearnsWhatTheCpuLearns'):
        check.run('sanitizer', chosen[:24], [tool, '--tool=memcheck', '--error-exitcode=9',
                                             options.bin + '/cortado_device_tests', '--gtest_brief=1',
                                             '--gtest_filter=' + chosen], 90,
                  lambda text: (re.findall(r'ERROR SUMMARY: .*', text) or [last_line(text)[:200]])[-1],
                  **test_env(options))


def bench(check, options):
    if options.gpu == 'simulated':
        return
    for net, batch, precision in BENCHES:
        if options.nets and net not in options.nets.split(','):
            continue
        with tempfile.TemporaryDirectory() as folder:
            results = folder + '/results.jsonl'
            command = [options.python, ROOT / 'scripts/bench/bench.py', '--bin=' + options.bin, '--gpu=' + options.gpu,
                       '--nets=' + net, '--batch=%d' % batch, '--precision=' + precision, '--rounds=5', '--block=0.5',
                       '--compile-limit=90', '--json=' + results]
            check.run('bench', '%s %d %s' % (net, batch, precision), command, 200, lambda _: bench_line(results))


def bench_line(path):
    if not os.path.exists(path):
        return 'nothing was measured'
    with open(path) as file:
        r = json.loads(file.readlines()[-1])
    ours, peer = r['device_mb']
    return '%.2f ms, %.0f img/s; %s %s %.2f ms; ratio %.2f; memory %.0f of %.0f MB (%.2f)' % (
        r['ours_ms'], r['images'], r['peer'], r['setting'], r['peer_ms'], r['ratio'][1], ours, peer, ours / peer)


PARTS = {'devices': devices, 'tests': tests, 'graph': graph, 'parity': parity, 'resume': resume, 'sanitizer': sanitizer,
         'bench': bench}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--gpu', default='0', help="its number, or 'simulated' (default: %(default)s)")
    parser.add_argument('--part', default=','.join(PARTS), help='one or several of those above, separated by commas')
    parser.add_argument('--nets', help='of the bench: %s' % ', '.join(sorted({net for net, _, _ in BENCHES})))
    parser.add_argument('--limit', type=float, default=580, help='seconds for all of it (default: %(default)s)')
    parser.add_argument('--bin', default=str(ROOT / 'build/bin'), help='where the programs are')
    parser.add_argument('--python', default=sys.executable, help='a Python that has PyTorch, for bench')
    parser.add_argument('--log', help='append all output to this file')
    parser.add_argument('--out', help='write the table, as Markdown, to this file')
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    for part in options.part.split(','):
        if part not in PARTS:
            parser.error('no part %s; there are %s' % (part, ', '.join(PARTS)))
    return options


def markdown(name, rows):
    lines = ['### %s, %s' % (name, time.strftime('%Y-%m-%d')), '', '| part | what | result | told | time |',
             '|---|---|---|---|---|']
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows]) + '\n'


def main():
    options = parse_options()
    check = Check(options)
    if devices(check, options):
        for part in options.part.split(','):
            if part == 'devices':
                continue
            try:
                PARTS[part](check, options)
            except Exception as fault:  # of this script's own: the other parts are wanted all the same
                check.add(part, '', 'FAILED', repr(fault), 0)
    sys.exit(any(row[2].startswith('FAILED') for row in check.rows))


main()
