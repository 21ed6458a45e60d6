#!/usr/bin/python3
"""See scripts/trust.sh."""
import argparse, datetime, os, pathlib, re, resource, signal, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / 'docs/trust.md'
KEPT = ROOT / 'build/trust'
GIB = 1 << 30
MEMORY = 8 * GIB       # address space of each process; sanitized programs reserve more and limit themselves
SOAK = 300             # seconds that a soak needs at least: half of them are its warm-up
LONGEST = 300          # seconds after its time until a part is killed, which counts as a finding
BUILD = 1200           # the same for a part that builds
LOG, SUMS = '## Log', '## Sums'


class Part:
    """One kind of attack. `batch(n, seconds)` returns the command of batch n, which takes some of the seconds; `cases`
    finds the number of cases in its output. A batch needs `least` seconds."""

    def __init__(self, name, unit, about, cases, batch, limited=True, least=0, longest=LONGEST):
        self.name, self.unit, self.about, self.cases = name, unit, about, cases
        self.batch, self.limited, self.least, self.longest = batch, limited, least, longest

    def run(self, row, seconds):
        """Runs batches until the time is over, beginning with number `row.batches`."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > self.least:
            begin = time.monotonic()
            code, output = execute(self.batch(row.batches, left), left + self.longest, self.limited)
            row.seconds += time.monotonic() - begin
            row.batches += 1
            row.cases += sum(int(number) for number in re.findall(self.cases, output))
            if code == 0: continue
            row.findings += 1
            KEPT.mkdir(parents=True, exist_ok=True)
            kept = KEPT / ('%s_%d.log' % (self.name, row.batches - 1))
            kept.write_text(output)
            print('%s: a finding: %s' % (self.name, kept.relative_to(ROOT)), flush=True)
            return


def execute(command, seconds, limited):
    """(exit code, output) of a command that is ended with all its children after this time."""
    def limit():
        if limited: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors='replace', start_new_session=True, preexec_fn=limit)
    try: output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return -1, process.communicate()[0] + '\ntrust.py: killed after %d s\n' % seconds
    return process.returncode, output


def pytest(file, unit_rounds, by_seed=False):
    """Batches of `unit_rounds` random cases: of one seed, or each of a seed of its own."""
    def batch(number, _):
        where = (['--seed=%d' % (number + 1)] if by_seed else ['--first=%d' % (number * unit_rounds)])
        return ['/usr/bin/python3', '-m', 'pytest', '-q', '-s', '-p', 'no:cacheprovider', '--rounds=%d' % unit_rounds,
                *where, file]
    return batch


def flips(number, _):
    return ['env', 'CORTADO_FLIPS=2000', 'CORTADO_FLIPS_SEED=%d' % (number + 1), 'build/bin/cortado_faults_tests']


def soak(number, seconds): return ['scripts/dev/soak.sh', '--minutes=%.2f' % (seconds / 60)]


def fuzz(number, seconds):
    """The fuzzers in turns."""
    targets = sorted(path.stem for path in (ROOT / 'tests/fuzz/targets').glob('*.cc'))
    return ['scripts/dev/fuzz.sh', '--seconds=%d' % min(30, max(5, seconds)), targets[number % len(targets)]]


def planted(number, seconds):
    """The folders in turns."""
    folders = subprocess.run(['scripts/dev/mutate.py', '--folders'], cwd=ROOT, capture_output=True, text=True,
                             check=True).stdout.splitlines()
    return ['scripts/dev/mutate.py', folders[number % len(folders)].split()[0], '--seed=%d' % (number + 1),
            '--minutes=%.2f' % (seconds / 60)]


PASSED, FAULTS = r'(?m)^(\d+) passed', r'(?m)^\.?(\d+) faults, \d+ violations'
PARTS = [
    Part('kills', 'kills', 'SIGKILL at a random time; the resumed training has the same bits', PASSED,
         pytest('tests/cli/kill_resume_test.py', 4)),
    Part('signals', 'rounds', 'SIGINT, SIGTERM, SIGHUP, SIGUSR1, some twice, to trainings on 1 to 4 ranks', PASSED,
         pytest('tests/cli/signal_rounds_test.py', 4)),
    Part('ranks', 'trainings', 'trainings by 2 to 4 ranks and two engines; the bits are those of one rank', PASSED,
         pytest('tests/cli/rank_rounds_test.py', 6)),
    Part('calls', 'faults', 'system calls that fail, transfer half or are interrupted', FAULTS,
         pytest('tests/faults/sweep_test.py', 20, by_seed=True)),
    Part('power', 'states', 'states of the disk that a power loss may leave', FAULTS,
         pytest('tests/faults/power_loss_test.py', 100, by_seed=True)),
    Part('flips', 'files', 'datasets and snapshots with a flipped bit, or cut short',
         r'(\d+) damaged files', flips),
    Part('server', 'requests', 'hostile requests to `cortado serve`', r'(?m)^\.?(\d+) hostile requests',
         pytest('tests/server/hostile_test.py', 400, by_seed=True)),
    Part('studio', 'requests', 'hostile requests to `cortado studio`', r'(?m)^\.?(\d+) hostile requests',
         pytest('tests/studio/hostile_test.py', 300, by_seed=True)),
    Part('soak', 'requests', 'a training, a pipeline with bad records, a server: memory, files, threads do not grow',
         r'(\d+) good requests', soak, least=SOAK),
    Part('onnx', 'models', 'random ONNX models: the results of ONNX Runtime, or an error',
         r'(?m)^\.?(\d+) models compared', pytest('tests/onnx/differential_test.py', 60, by_seed=True)),
    Part('fuzz', 'inputs', 'inputs of the fuzzers, mutated for coverage (tests/fuzz)', r'(\d+) executions,', fuzz,
         limited=False),
    Part('planted', 'faults', 'faults planted in the code; those that no test notices are listed, not findings',
         r'(?m)^(\d+) faults tried', planted, limited=False, least=120, longest=BUILD),
]


class Row:
    """A line of the log: what one run of a part tried."""
    HEAD = '| date | commit | machine | part | seconds | batches | cases | in all | findings |'

    def __init__(self, part, batches, seconds=0, cases=0, findings=0):
        self.part, self.batches, self.seconds, self.cases, self.findings = part, batches, seconds, cases, findings

    def line(self, commit, machine, before):
        return '| %s | %s | %s | %s | %d | %d | %s | %s | %d |' % (
            datetime.date.today(), commit, machine, self.part.name, self.seconds, self.batches, grouped(self.cases),
            grouped(before + self.cases), self.findings)


def grouped(number): return '{:,}'.format(number)


def rows_of(text):
    """The cells of the log's lines, by column."""
    names = [name.strip() for name in Row.HEAD.strip('|').split('|')]
    for line in text.split(LOG, 1)[1].splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if line.startswith('| 2'): yield dict(zip(names, cells))


def number(cell): return int(cell.replace(',', ''))


def sums_of(text):
    """{part: [seconds, batches, cases]}"""
    sums = {part.name: [0, 0, 0] for part in PARTS}
    for row in rows_of(text):
        if row['part'] not in sums: continue
        sum = sums[row['part']]
        sum[0] += number(row['seconds'])
        sum[1] = max(sum[1], number(row['batches']))
        sum[2] += number(row['cases'])
    return sums


def with_sums(text):
    """The page with its table of sums made anew."""
    sums = sums_of(text)
    lines = ['| part | what is tried | minutes | cases |', '|---|---|---:|---:|']
    for part in PARTS:
        seconds, _, cases = sums[part.name]
        lines.append('| %s | %s | %d | %s %s |' % (part.name, part.about, seconds // 60, grouped(cases), part.unit))
    lines.append('| all | | %d | |' % (sum(each[0] for each in sums.values()) // 60))
    head, rest = text.split(SUMS, 1)
    return '%s%s\n\n%s\n\n%s%s' % (head, SUMS, '\n'.join(lines), LOG, rest.split(LOG, 1)[1])


def machine():
    model = re.search(r'model name\s*: (.*)', pathlib.Path('/proc/cpuinfo').read_text())
    name = re.sub(r'\(R\)|\(TM\)|Processor|CPU|@.*|\d+-Core', '', model[1] if model else 'CPU')
    return '%d x %s' % (os.cpu_count(), ' '.join(name.split()))


def main():
    parser = argparse.ArgumentParser(prog='scripts/trust.sh', description='Tries to break the program.')
    parser.add_argument('--minutes', type=float, default=8)
    parser.add_argument('--list', action='store_true')
    parser.add_argument('parts', nargs='*', metavar='PART')
    options = parser.parse_args()
    if options.list:
        for part in PARTS: print('%-8s %s' % (part.name, part.about))
        return
    unknown = set(options.parts) - {part.name for part in PARTS}
    if unknown: parser.error('unknown part: %s; --list shows them' % ', '.join(sorted(unknown)))
    sums = sums_of(PAGE.read_text())
    parts = [part for part in PARTS if not options.parts or part.name in options.parts]
    parts = [part for part in parts if 60 * options.minutes / len(parts) > part.least]
    parts.sort(key=lambda part: sums[part.name][0])
    commit = subprocess.run(['git', 'rev-parse', '--short=8', 'HEAD'], cwd=ROOT, capture_output=True,
                            text=True).stdout.strip()
    end, findings = time.monotonic() + 60 * options.minutes, 0
    for i, part in enumerate(parts):
        left = end - time.monotonic()
        if left < 5: break
        row = Row(part, sums[part.name][1])
        part.run(row, left / (len(parts) - i))
        text = PAGE.read_text().rstrip('\n') + '\n' + row.line(commit, machine(), sums[part.name][2]) + '\n'
        PAGE.write_text(with_sums(text))
        findings += row.findings
        print('%-8s %5d s %8s %s, %d findings' % (part.name, row.seconds, grouped(row.cases), part.unit, row.findings),
              flush=True)
    sys.exit(1 if findings else 0)


if __name__ == '__main__': main()
