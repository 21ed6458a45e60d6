#!/usr/bin/python3
"""Plants faults in a folder's sources, runs its tests on each, and lists the faults that no test notices.

    mutate.py engine/graph                  for 8 minutes after the build; adds a line to docs/trust.md
    mutate.py engine/graph --minutes=3 --seed=2 --no-log
    mutate.py engine/graph --only=17,230    these faults again, of the same seed
    mutate.py engine/graph --list           the faults, without a build
    mutate.py --folders                     the folders and their tests

All faults of a folder are in one build, in build-mutate/. An environment variable chooses one. Tests that do not reach
a fault are not run. The first build of a folder takes minutes, which do not count.
"""
import argparse, collections, concurrent.futures, datetime, json, os, pathlib, random, re, resource, shutil, signal
import subprocess, sys, time

import faults_in_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / 'build-mutate'
SOURCE, BUILD = PLACE / 'source', PLACE / 'build'
PAGE = ROOT / 'docs/trust.md'
# Tests of commands that print or check what the graph makes.
OF_GRAPHS = ['+cli.' + name for name in (
    'batch', 'caffe_names', 'deploy', 'deploy_nets', 'devices', 'equal_names', 'features', 'first_hour', 'freeze',
    'labels', 'net_mistakes', 'new', 'output_names', 'page_cpu', 'page_from-caffe', 'page_inference', 'plan_ranks',
    'quantize', 'rerun', 'same_scores', 'set', 'training_warnings', 'two_sets', 'upgrade', 'weights_mistakes')]
TESTS = {  # the tests of a folder: test programs of tests/, and tests in Python, by folder or name, after a plus
    'engine/core': ['core'], 'engine/graph': ['graph', 'net', *OF_GRAPHS],
    'engine/graph/dialect': ['graph', '+onnx', '+opencv'], 'engine/net': ['net'], 'engine/kernels': ['kernels'],
    'layers/types': ['layers'], 'layers/common': ['layers'], 'data': ['data'], 'proto': ['proto'],
    'solvers': ['solvers'], 'formats/models': ['models'], 'formats/onnx': ['+onnx'], 'tools/runs': ['runs'],
    'tools': ['tools', 'runs', '+cli'], 'serving/http': ['http'], 'serving/server': ['server', '+server'],
    'serving/studio': ['studio', '+studio'], 'bindings/python': ['+python'], 'bindings/c': ['+library'],
}
NEED_THE_PROGRAM = '+cli', '+onnx', '+opencv'  # and no other one
HEADER = '''#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
namespace cortado_planted {
struct Faults {
  int chosen = std::getenv("CORTADO_PLANTED") ? std::atoi(std::getenv("CORTADO_PLANTED")) : 0;
  bool reached[1 << 16] = {};
  ~Faults() {
    const char* file = std::getenv("CORTADO_PLANTED_REACHED");
    if (!file) return;
    const int fd = ::open(file, O_WRONLY | O_APPEND | O_CREAT, 0644);
    for (int i = 0; i < 1 << 16; ++i)
      if (reached[i] && ::write(fd, &i, sizeof i) != sizeof i) break;
    ::close(fd);
  }
};
inline Faults& faults() {
  static Faults made;
  return made;
}
inline bool on(int number) {
  Faults& all = faults();
  all.reached[number] = true;
  return all.chosen == number;
}
}  // namespace cortado_planted
'''


def copy_tree():
    """Copies the tracked files; those that did not change keep their times."""
    names = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split('\n')
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for name in wanted: write(SOURCE / name, (ROOT / name).read_bytes())
    for path in SOURCE.rglob('*'):
        if path.is_file() and str(path.relative_to(SOURCE)) not in wanted: path.unlink()
    write(PLACE / 'planted.h', HEADER.encode())


def write(path, data):
    if path.is_file() and path.read_bytes() == data: return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if SOURCE in path.parents: shutil.copymode(ROOT / path.relative_to(SOURCE), path)


class Folder:
    """The faults of a folder's sources. `left_out` are those that do not compile."""

    def __init__(self, folder, seed):
        self.folder, self.seed, self.left_out = folder, seed, set()
        inner = [ROOT / other for other in TESTS if other.startswith(folder + '/')]
        self.files = sorted(path for path in (ROOT / folder).rglob('*') if path.suffix in ('.cc', '.cu')
                            and 'cuda' not in path.parts and not any(other in path.parents for other in inner))
        self.scripts = sorted((ROOT / folder).rglob('*.py')) if folder == 'bindings/python' else []
        self.plant()

    def plant(self):
        """Makes the texts, `faults` by number, and `python`: the texts of files with one fault, by number."""
        draws, self.faults, self.texts, self.python = random.Random(self.seed), {}, {}, {}
        for path in self.files:
            name = str(path.relative_to(ROOT))
            text, faults = faults_in_text.plant_in_cpp(path.read_text(), name, len(self.faults) + 1,
                                                       left_out=self.left_out, draws=draws)
            self.texts[name] = '#include "%s/planted.h"\n#line 1\n%s' % (PLACE, text)
            self.faults.update((fault.number, fault) for fault in faults)
        for path in self.scripts:
            name = str(path.relative_to(ROOT))
            for fault, text in faults_in_text.plant_in_python(path.read_text(), name, len(self.faults) + 1, draws):
                self.faults[fault.number], self.python[fault.number] = fault, text

    def write(self):
        for name, text in self.texts.items(): write(SOURCE / name, text.encode())

    def leave_out(self, output):
        """Leaves out the faults at lines with errors. Returns how many."""
        lines = collections.defaultdict(set)
        for file, line in re.findall(r'(?m)^\S*?/source/(\S+?):(\d+):\d+: (?:error|  )', output):
            lines[file].add(int(line))
        before = len(self.left_out)
        for fault in self.faults.values():
            if any(fault.first <= line <= fault.last for line in lines[fault.file]): self.left_out.add(fault.number)
        return len(self.left_out) - before


def targets(folder):
    """What to build for the folder's tests."""
    tests = TESTS[folder]
    if any(each[0] == '+' and not each.startswith(NEED_THE_PROGRAM) for each in tests): return ['all']
    program = ['cortado', 'cortado-hdf5'] if any(each[0] == '+' for each in tests) else []
    return program + ['cortado_%s_tests' % each for each in tests if each[0] != '+']


def build(folder):
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(PLACE / 'configure.log', 'w') as log:
        if subprocess.run(['cmake', '-S', SOURCE, '-B', BUILD, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release',
                           '-DCMAKE_CXX_FLAGS=-w', '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG', '-DCORTADO_CUDA=OFF',
                           '-Dcortado_device_optimisation=-O1'], stdout=log, stderr=log).returncode:
            sys.exit((PLACE / 'configure.log').read_text())
    for _ in range(12):
        folder.write()
        done = subprocess.run(['ninja', '-C', BUILD, '-k', '0', *targets(folder.folder)], capture_output=True,
                              text=True)
        if not done.returncode: return
        if not folder.leave_out(done.stdout): sys.exit(done.stdout[-6000:])
        folder.plant()
        print('mutate.py: %d of %d faults do not compile' % (len(folder.left_out), len(folder.faults)), flush=True)
    sys.exit('mutate.py: it still does not compile')


class Unit:
    """A suite of a test program, or a test in Python: what is run for a fault that it reaches."""

    def __init__(self, name, command, directory):
        self.name, self.command, self.directory = name, command, directory
        self.seconds, self.reached, self.passes = 0, set(), False

    def run(self, environment, limit):
        """Whether it passes within the limit, in seconds."""
        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        process = subprocess.Popen(self.command, cwd=self.directory, env=dict(os.environ, **environment),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                   start_new_session=True, preexec_fn=limits)
        try: return process.wait(limit) == 0
        except subprocess.TimeoutExpired: return False
        finally:
            try: os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError: pass
            process.wait()

    def learn(self):
        """Runs it without a fault: its time, and the faults that it reaches."""
        reached = PLACE / 'reached' / self.name.replace('/', '_')
        reached.parent.mkdir(exist_ok=True)
        reached.unlink(missing_ok=True)
        begin = time.monotonic()
        self.passes = self.run({'CORTADO_PLANTED_REACHED': str(reached)}, 300)
        self.seconds = time.monotonic() - begin
        data = reached.read_bytes() if reached.exists() else b''
        self.reached = {int.from_bytes(data[i:i + 4], 'little') for i in range(0, len(data), 4)}
        return self

    def notices(self, number):
        return not self.run({'CORTADO_PLANTED': str(number), 'GTEST_FAIL_FAST': '1'}, 10 + 5 * self.seconds)


def units(folder):
    listed = json.loads(subprocess.run(['ctest', '--test-dir', BUILD, '--show-only=json-v1'], capture_output=True,
                                       text=True, check=True).stdout)['tests']
    programs = ['cortado_%s_tests' % each for each in TESTS[folder.folder]]
    scripts = {each[1:] for each in TESTS[folder.folder] if each[0] == '+'}
    found = {}
    for test in listed:
        command = test.get('command')
        if not command: continue
        directory = next((each['value'] for each in test.get('properties', []) if each['name'] == 'WORKING_DIRECTORY'),
                         BUILD)
        if os.path.basename(command[0]) in programs:
            suite = test['name'].split('.')[1]
            name = os.path.basename(command[0]) + '.' + suite
            found.setdefault(name, Unit(name, [command[0], '--gtest_filter=%s.*:*/%s.*:%s/*' % (suite, suite, suite)],
                                        directory))
        elif {test['name'], test['name'].split('.')[0]} & scripts:
            found[test['name']] = Unit(test['name'], command, directory)
    return list(found.values())


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool: return list(pool.map(work, items))


def noticed_by(folder, tests, number):
    """The name of a test that notices the fault, or None. The shortest are tried first."""
    if number in folder.python: return noticed_in_python(folder, tests, number)
    for test in sorted((each for each in tests if number in each.reached), key=lambda each: each.seconds):
        if test.notices(number): return test.name


def noticed_in_python(folder, tests, number):
    name = pathlib.Path(folder.faults[number].file).relative_to('bindings/python')
    file = BUILD / 'python' / name
    kept = file.read_bytes()
    try:
        file.write_text(folder.python[number])
        return next((test.name for test in sorted(tests, key=lambda each: each.seconds) if test.notices(number)), None)
    finally: file.write_bytes(kept)


def log(folder, noticed, survived, unreached):
    """Adds a line to the table of docs/trust.md."""
    text = PAGE.read_text()
    head, rest = text.split('## Planted faults', 1)
    table, after = rest.split('\n\n## ', 1)
    commit = subprocess.run(['git', 'rev-parse', '--short=8', 'HEAD'], cwd=ROOT, capture_output=True,
                            text=True).stdout.strip()
    line = '| %s | %s | %s | %d | %d | %d | %d | |' % (datetime.date.today(), commit, folder.folder, folder.seed,
                                                      noticed + survived, noticed, unreached)
    PAGE.write_text('%s## Planted faults%s\n%s\n\n## %s' % (head, table.rstrip(), line, after))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('folder', nargs='?')
    parser.add_argument('--minutes', type=float, default=8)
    parser.add_argument('--count', type=int, default=1 << 30)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='')
    parser.add_argument('--no-log', action='store_true')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--folders', action='store_true')
    options = parser.parse_args()
    if options.folders:
        for name, tests in TESTS.items(): print('%-16s %s' % (name, ' '.join(tests)))
        return
    if options.folder not in TESTS: parser.error('unknown folder; --folders shows them')
    folder = Folder(options.folder, options.seed)
    if options.list:
        for number, fault in folder.faults.items(): print(number, fault)
        return
    copy_tree()
    build(folder)
    tests = in_parallel(Unit.learn, units(folder))
    for test in tests:
        if not test.passes: print('mutate.py: left out, it fails without a fault: %s' % test.name)
    tests = [test for test in tests if test.passes]
    reached = set().union(*(test.reached for test in tests))
    print('%d faults, %d tests of %.0f s' % (len(folder.faults) - len(folder.left_out), len(tests),
                                             sum(test.seconds for test in tests)), flush=True)
    numbers = [number for number in folder.faults if number not in folder.left_out]
    random.Random(options.seed).shuffle(numbers)
    if options.only: numbers = [int(each) for each in options.only.split(',')]
    numbers = numbers[:options.count]
    end, noticed, survived, unreached = time.monotonic() + 60 * options.minutes, 0, 0, 0

    def judge(number): return (number, noticed_by(folder, tests, number)) if time.monotonic() < end else (number, '')
    workers = 1 if folder.python else os.cpu_count()  # faults in Python change files that the tests share
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for number, test in pool.map(judge, numbers):
            if test == '': continue
            if test:
                noticed += 1
                if options.only: print('%d noticed by %s: %s' % (number, test, folder.faults[number]))
                continue
            survived += 1
            no_test = number not in reached and number not in folder.python
            unreached += no_test
            print('%d %s: %s' % (number, 'not reached' if no_test else 'not noticed', folder.faults[number]),
                  flush=True)
    print('%d faults tried, %d noticed, %d not, of which no test reaches %d' % (noticed + survived, noticed, survived,
                                                                                unreached))
    if not options.no_log and not options.only: log(folder, noticed, survived, unreached)


main()
