#!/usr/bin/python3
"""Plants faults in the sources of folders, runs their tests on each, and lists the faults that no test notices.

    mutate.py engine/graph                  for 8 minutes after the build; adds a line to docs/trust.md
    mutate.py engine/graph --minutes=3 --seed=2 --no-log
    mutate.py engine/graph --only=17,230    these faults again, of the same seed
    mutate.py engine/graph --only=17 --wide with the tests of all folders
    mutate.py engine/graph --list           the faults, without a build
    mutate.py all --share=5 --minutes=60    5 faults of each folder
    mutate.py --folders                     the folders and their tests

All faults are in one build, in build-mutate/. An environment variable chooses one. Tests that do not reach
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
    'batch', 'caffe_names', 'data_mistakes', 'deploy', 'deploy_nets', 'devices', 'equal_names', 'features',
    'first_hour', 'freeze', 'labels', 'net_mistakes', 'new', 'output_names', 'page_cpu', 'page_from-caffe',
    'page_inference', 'plan_ranks', 'quantize', 'rerun', 'same_scores', 'set', 'training_warnings', 'two_sets',
    'upgrade', 'weights_mistakes')]
# Tests that observe nets, predict, or walk a dataset.
OF_NETS = ['solvers', 'server', '+python', '+cli.determinism', '+cli.epochs', '+cli.test_scores'] + [
    '+cli.' + name for name in ('features', 'labels', 'net_mistakes', 'quantize', 'run_labels', 'trained_runs',
                                'training_warnings', 'two_sets', 'weights_mistakes', 'page_inference', 'page_scores')]
TESTS = {  # the tests of a folder: test programs of tests/, and tests in Python, by folder or name, after a plus
    'engine/core': ['core', 'tools'], 'engine/graph': ['graph', 'net', *OF_GRAPHS],
    'engine/graph/dialect': ['graph', '+onnx', '+opencv'], 'engine/net': ['net', *OF_NETS],
    'engine/kernels': ['kernels'], 'engine/ranks': ['ranks', '+cli.ranks', '+cli.rank_rounds', '+cli.plan_ranks'],
    'layers': ['layers', 'graph', 'net'], 'layers/types': ['layers'], 'layers/common': ['layers'],
    'data': ['data', '+cli.data', '+cli.data_mistakes', '+cli.datasets', '+cli.lists', '+cli.class_folders'],
    'proto': ['proto', 'models'], 'solvers': ['solvers', '+cli.trained_runs', '+cli.schedules', '+cli.solver_mistakes'],
    'formats': ['data', 'proto', 'core', 'leveldb', '+hdf5'], 'formats/onnx': ['+onnx'], 'tools/runs': ['runs', '+cli'],
    'tools': ['tools', 'runs', '+cli'], 'serving/http': ['http', '+server'], 'serving/server': ['server', '+server'],
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


class Planting:
    """The faults of the folders' sources, or `share` of each folder's. `left_out` are those that do not compile."""

    def __init__(self, folders, seed, share=None, compiled=None):
        self.seed, self.share, self.left_out = seed, share, set()
        self.folder_of = {}
        for folder in folders:
            files = [path for path in sources(folder) if compiled is None or path.suffix == '.py' or path in compiled]
            if not files: sys.exit('mutate.py: %s/ has no sources' % folder)
            self.folder_of.update((str(path.relative_to(ROOT)), folder) for path in files)
        self.make(set())
        by_folder = collections.defaultdict(list)
        for number, fault in self.faults.items(): by_folder[self.folder_of[fault.file]].append(number)
        self.chosen = []
        for numbers in by_folder.values():
            random.Random(self.seed).shuffle(numbers)
            self.chosen += numbers[:self.share]
        self.plant()

    def plant(self):
        """Makes `faults` by number, the numbers to try in their order, the texts, and `python`: the texts of files with
        one fault, by number."""
        self.numbers = [number for number in self.chosen if number not in self.left_out]
        self.make(set(self.faults) - set(self.numbers))

    def make(self, without):
        draws, self.faults, self.texts, self.python = random.Random(self.seed), {}, {}, {}
        for name in self.folder_of:
            text, next_number = (ROOT / name).read_text(), len(self.faults) + 1
            if name.endswith('.py'):
                for fault, changed in faults_in_text.plant_in_python(text, name, next_number, draws):
                    self.faults[fault.number], self.python[fault.number] = fault, changed
                continue
            text, faults = faults_in_text.plant_in_cpp(text, name, next_number, left_out=without, draws=draws)
            planted = any(fault.number not in without for fault in faults)
            self.texts[name] = '#include "%s/planted.h"\n#line 1\n%s' % (PLACE, text) if planted else text
            self.faults.update((fault.number, fault) for fault in faults)

    def write(self):
        for name, text in self.texts.items(): write(SOURCE / name, text.encode())

    def leave_out(self, output):
        """Leaves out the faults at lines with errors. Returns how many."""
        lines = collections.defaultdict(set)
        for file, line in re.findall(r'(?m)^\S*?/source/(\S+?):(\d+):\d+: (?:error|  )', output):
            lines[file].add(int(line))
        before = len(self.left_out)
        for number in self.numbers:
            fault = self.faults[number]
            if any(fault.first <= line <= fault.last for line in lines[fault.file]): self.left_out.add(number)
        return len(self.left_out) - before


def sources(folder):
    """The sources of the folder without those of inner folders that have their own tests."""
    inner = [ROOT / other for other in TESTS if other.startswith(folder + '/')]
    kinds = ('.cc', '.cu', '.py') if folder == 'bindings/python' else ('.cc', '.cu')
    return sorted((path for path in (ROOT / folder).rglob('*') if path.suffix in kinds and 'cuda' not in path.parts
                   and not any(other in path.parents for other in inner)), key=lambda path: (path.suffix, path))


def targets(tests):
    """What to build for the tests."""
    if any(each[0] == '+' and not each.startswith(NEED_THE_PROGRAM) for each in tests): return ['all']
    program = ['cortado', 'cortado-hdf5'] if any(each[0] == '+' for each in tests) else []
    return program + ['cortado_%s_tests' % each for each in tests if each[0] != '+']


def configure():
    """Returns the sources that a build without CUDA compiles."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(PLACE / 'configure.log', 'w') as log:
        if subprocess.run(['cmake', '-S', SOURCE, '-B', BUILD, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release',
                           '-DCMAKE_CXX_FLAGS=-w', '-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG', '-DCORTADO_CUDA=OFF',
                           '-Dcortado_device_optimisation=-O1'], stdout=log, stderr=log).returncode:
            sys.exit((PLACE / 'configure.log').read_text())
    commands = subprocess.run(['ninja', '-C', BUILD, '-t', 'commands'], capture_output=True, text=True, check=True)
    joined = [path.read_text() for kind in ('unity_*', 'together_*') for path in BUILD.rglob(kind)
              if path.suffix in ('.cxx', '.cu')]
    named = re.compile(re.escape(str(SOURCE)) + r'/(\S+?\.(?:cc|cu))\b')
    return {ROOT / name for text in [commands.stdout, *joined] for name in named.findall(text)}


def build(planting, tests):
    for _ in range(30):
        planting.write()
        done = subprocess.run(['ninja', '-C', BUILD, '-k', '0', *targets(tests)], capture_output=True,
                              text=True)
        if not done.returncode: return
        if not planting.leave_out(done.stdout): sys.exit(done.stdout[-6000:])
        planting.plant()
        print('mutate.py: %d faults do not compile' % len(planting.left_out), flush=True)
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
            for interrupt in signal.SIGINT, signal.SIGQUIT: signal.signal(interrupt, signal.SIG_DFL)  # ignored after &
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


def listed_tests():
    return json.loads(subprocess.run(['ctest', '--test-dir', BUILD, '--show-only=json-v1'], capture_output=True,
                                     text=True, check=True).stdout)['tests']


def units(listed, tests):
    """{name: Unit} of those of the listed tests that `tests`, a list like those of TESTS, has."""
    programs = ['cortado_%s_tests' % each for each in tests]
    scripts = {each[1:] for each in tests if each[0] == '+'}
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
    return found


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool: return list(pool.map(work, items))


def noticed_by(planting, tests, number):
    """The name of a test that notices the fault, or None. The shortest are tried first."""
    tests = sorted(tests, key=lambda each: each.seconds)
    if number in planting.python: return noticed_in_python(planting, tests, number)
    return next((test.name for test in tests if number in test.reached and test.notices(number)), None)


def noticed_in_python(planting, tests, number):
    name = pathlib.Path(planting.faults[number].file).relative_to('bindings/python')
    file = BUILD / 'python' / name
    kept = file.read_bytes()
    try:
        file.write_text(planting.python[number])
        return next((test.name for test in tests if test.notices(number)), None)
    finally: file.write_bytes(kept)


def log(folder, seed, noticed, survived, unreached):
    """Adds a line to the table of docs/trust.md."""
    text = PAGE.read_text()
    head, rest = text.split('## Planted faults', 1)
    table, after = rest.split('\n\n## ', 1)
    commit = subprocess.run(['git', 'rev-parse', '--short=8', 'HEAD'], cwd=ROOT, capture_output=True,
                            text=True).stdout.strip()
    line = '| %s | %s | %s | %d | %d | %d | %d | |' % (datetime.date.today(), commit, folder, seed, noticed + survived,
                                                      noticed, unreached)
    PAGE.write_text('%s## Planted faults%s\n%s\n\n## %s' % (head, table.rstrip(), line, after))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('folder', nargs='?')
    parser.add_argument('--minutes', type=float, default=8)
    parser.add_argument('--share', type=int)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', default='')
    parser.add_argument('--wide', action='store_true')
    parser.add_argument('--no-log', action='store_true')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--folders', action='store_true')
    options = parser.parse_args()
    if options.folders:
        for name, tests in TESTS.items(): print('%-16s %s' % (name, ' '.join(tests)))
        return
    if options.folder != 'all' and options.folder not in TESTS: parser.error('unknown folder; --folders shows them')
    folders = list(TESTS) if options.folder == 'all' else [options.folder]
    if options.list:
        planting = Planting(folders, options.seed, options.share)
        for number in sorted(planting.numbers): print(number, planting.faults[number])
        return
    wanted = sorted({test for folder in (TESTS if options.wide else folders) for test in TESTS[folder]})
    copy_tree()
    planting = Planting(folders, options.seed, options.share, configure())
    build(planting, wanted)
    listed = listed_tests()
    tests = units(listed, wanted)
    in_parallel(Unit.learn, tests.values())
    for name, test in list(tests.items()):
        if test.passes: continue
        print('mutate.py: left out, it fails without a fault: %s' % name)
        del tests[name]
    print('%d faults, %d tests of %.0f s' % (len(planting.numbers), len(tests),
                                             sum(test.seconds for test in tests.values())), flush=True)
    tests_of = {folder: [test for name, test in tests.items() if options.wide or name in names]
                for folder, names in ((folder, units(listed, TESTS[folder])) for folder in folders)}
    numbers = [int(each) for each in options.only.split(',')] if options.only else planting.numbers
    end, noticed, survived, unreached = time.monotonic() + 60 * options.minutes, 0, 0, 0

    def judge(number):
        """The name of a test that notices the fault; None if none does, '' where the time is over."""
        if time.monotonic() >= end: return ''
        return noticed_by(planting, tests_of[planting.folder_of[planting.faults[number].file]], number)

    def count(number, test):
        nonlocal noticed, survived, unreached
        if test == '': return
        if test:
            noticed += 1
            if options.only: print('%d noticed by %s: %s' % (number, test, planting.faults[number]))
            return
        survived += 1
        no_test = number not in planting.python and not any(number in each.reached for each in tests.values())
        unreached += no_test
        print('%d %s: %s' % (number, 'not reached' if no_test else 'not noticed', planting.faults[number]), flush=True)

    compiled = [number for number in numbers if number not in planting.python]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, test in zip(compiled, pool.map(judge, compiled)): count(number, test)
    for number in numbers:  # faults in Python change files that the tests share
        if number in planting.python: count(number, judge(number))
    print('%d faults tried, %d noticed, %d not, of which no test reaches %d' % (noticed + survived, noticed, survived,
                                                                                unreached))
    if not options.no_log and not options.only: log(options.folder, options.seed, noticed, survived, unreached)


main()
