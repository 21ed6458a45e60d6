#!/usr/bin/python3
"""Runs on a GPU (or, without the last two, on the simulated device) what only a device can show, and prints a table.

  tests       every kernel, every layer, augmentation and training steps against the CPU's references
  parity      recorded trainings of the reference implementation, in fp32, tf32, bf16 and fp16
  resume      trainings that are killed and go on give the same bytes
  sanitizer   the tests of layers under compute-sanitizer (memcheck)
  bench       training steps beside PyTorch's (eager and compiled, channels last, mixed precision)

Parts are run in this order; what fails does not stop the others. Exit code 1 if any failed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRECISIONS = ['fp32', 'tf32', 'bf16', 'fp16']
BENCHES = [  # (net, batch, precision): what the goals speak of
    ('resnet50', 256, 'bf16'), ('resnet50', 256, 'fp16'), ('lenet', 64, 'fp32'), ('cifar10_quick', 100, 'fp32')]


class Check:
    """One part's runs: rows of the table, and the whole output in a log."""

    def __init__(self, options):
        self.options, self.rows = options, []

    def run(self, part, name, command, seconds, told=lambda text: '', **env):
        begin = time.monotonic()
        try:
            done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors='replace', timeout=seconds, env=dict(os.environ, **env))
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, text = 'timeout', (late.stdout or b'').decode(errors='replace')
        self.log(part, name, text)
        self.add(part, name, 'ok' if code == 0 else 'FAILED (%s)' % code, told(text), time.monotonic() - begin)
        return text

    def add(self, part, name, state, told, seconds):
        self.rows.append((part, name, state, told, '%.0f s' % seconds))
        print('%-10s %-28s %-12s %s (%.0f s)' % (part, name, state, told, seconds), flush=True)

    def log(self, part, name, text):
        if self.options.log:
            with open(self.options.log, 'a') as file:
                file.write('=== %s %s\n%s\n' % (part, name, text))


def gpu_flag(options):
    return '--gpu=' + options.gpu


def test_env(options):
    return {} if options.gpu == 'simulated' else {'CORTADO_TEST_GPU': options.gpu}


def totals(text):
    passed = re.findall(r'\[  PASSED  \] (\d+) test', text)
    failed = re.findall(r'\[  FAILED  \] (\d+) test', text)
    return '%s passed, %s failed' % (passed[0] if passed else 0, failed[0] if failed else 0)


def tests(check, options):
    check.run('tests', 'kernels, layers, data', [options.bin + '/cortado_device_tests', '--gtest_brief=1'], 240, totals,
              **test_env(options))


def parity(check, options):
    for precision in PRECISIONS:
        check.run('parity', precision, [sys.executable, ROOT / 'tests/parity/run_parity.py', options.bin + '/cortado',
                                        gpu_flag(options), '--precision=' + precision], 120,
                  lambda text: text.strip().splitlines()[-1] if text.strip() else '')


def resume(check, options):
    for precision in ['fp32', 'fp16']:
        check.run('resume', precision, [sys.executable, ROOT / 'tests/cli/kill_resume.py', options.bin + '/cortado',
                                        '--rounds=3', '--threads=1', '--flags=%s --precision=%s' % (
                                            gpu_flag(options), precision)], 120,
                  lambda text: text.strip().splitlines()[-1] if text.strip() else '')


def sanitizer(check, options):
    if options.gpu == 'simulated':
        return
    tool = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    if not os.path.exists(tool):
        return check.add('sanitizer', 'memcheck', 'not run', 'there is no compute-sanitizer', 0)
    check.run('sanitizer', 'memcheck, layers', [tool, '--tool=memcheck', '--error-exitcode=9', options.bin +
                                                '/cortado_device_tests', '--gtest_brief=1',
                                                '--gtest_filter=*Layer*:*Device*'], 150,
              lambda text: (re.findall(r'ERROR SUMMARY: .*', text) or [''])[-1], **test_env(options))


def bench(check, options):
    if options.gpu == 'simulated':
        return
    for net, batch, precision in BENCHES:
        with tempfile.TemporaryDirectory() as folder:
            results = folder + '/results.jsonl'
            command = [options.python, ROOT / 'scripts/bench/bench.py', '--bin=' + options.bin, '--gpu=' + options.gpu,
                       '--nets=' + net, '--batch=%d' % batch, '--precision=' + precision, '--rounds=5', '--block=0.5',
                       '--compile-limit=90', '--json=' + results]
            check.run('bench', '%s %d %s' % (net, batch, precision), command, 200, lambda _: bench_line(results))


def bench_line(path):
    if not os.path.exists(path):
        return ''
    with open(path) as file:
        r = json.loads(file.readlines()[-1])
    ours, peer = r['device_mb']
    return '%.2f ms, %.0f img/s; %s %s %.2f ms; ratio %.2f; memory %.0f of %.0f MB (%.2f)' % (
        r['ours_ms'], r['images'], r['peer'], r['setting'], r['peer_ms'], r['ratio'][1], ours, peer, ours / peer)


PARTS = {'tests': tests, 'parity': parity, 'resume': resume, 'sanitizer': sanitizer, 'bench': bench}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--gpu', default='0', help="its number, or 'simulated' (default: %(default)s)")
    parser.add_argument('--part', default=','.join(PARTS), help='one or several of those above, separated by commas')
    parser.add_argument('--bin', default=str(ROOT / 'build/bin'), help='where the programs are')
    parser.add_argument('--python', default=sys.executable, help='a Python that has PyTorch, for bench')
    parser.add_argument('--log', help='append all output to this file')
    parser.add_argument('--out', help='write the table, as Markdown, to this file')
    options = parser.parse_args()
    for part in options.part.split(','):
        if part not in PARTS:
            parser.error('no part %s; there are %s' % (part, ', '.join(PARTS)))
    return options


def device_name(options):
    listed = subprocess.run([options.bin + '/cortado', 'devices', '--json'], stdout=subprocess.PIPE, text=True)
    gpus = json.loads(listed.stdout)['gpus'] if listed.returncode == 0 else []
    names = [gpu['name'] for gpu in gpus if str(gpu['index']) == options.gpu]
    return names[0] if names else 'simulated device' if options.gpu == 'simulated' else 'no such GPU'


def markdown(name, rows):
    lines = ['### %s, %s' % (name, time.strftime('%Y-%m-%d')), '', '| part | what | result | told | time |',
             '|---|---|---|---|---|']
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows]) + '\n'


def main():
    options = parse_options()
    name = device_name(options)
    print(name)
    check = Check(options)
    for part in options.part.split(','):
        PARTS[part](check, options)
    table = markdown(name, check.rows)
    print('\n' + table)
    if options.out:
        pathlib.Path(options.out).write_text(table)
    sys.exit(any(row[2] not in ('ok', 'not run') for row in check.rows) or name == 'no such GPU')


main()
