"""Collects transcripts as tests of pytest: commands with their expected output and exit code.

    python3 -m pytest tests/cli/usage.test           -v -s shows the output of each command

A folder's conftest.py enables it: `from tests.cli.transcripts import pytest_collect_file`.

A transcript is a list of blocks that run in order in one folder, which is empty at first:
    == file NAME           the lines up to the next block become a file
    == make                the lines are Python, with the functions of fixtures.py
    == run CODE [limit=S]  the first line is a command, which must return CODE and compute no more than all cores can in
                           S (5) seconds, however long it waits on a busy machine; then, one a line:
        > TEXT     stdout has this line          >~ REGEX    a line of stdout matches         >! REGEX   none does
        2> TEXT    stderr has this line          2>~ REGEX   a line of stderr matches         2>! REGEX  none does
A command without such a line returns 0 and comes before a "make" block, which looks at what it made.
Lines that start with # between blocks are comments. `cortado` and the build's symlinks to it with Caffe's names are on
PATH. No command may die by a signal or print an escape code.
"""
import os, re, resource, shlex, subprocess, tempfile, traceback

import pytest

from tests.cli import fixtures

HANGS = 240  # seconds after which a command is killed, however little it computed


def pytest_collect_file(file_path, parent):
    if file_path.suffix == '.test': return Transcript.from_parent(parent, path=file_path)


class WrongCommands(Exception):
    """The failures of a transcript's commands."""


class Transcript(pytest.File):
    def collect(self):
        yield Commands.from_parent(self, name=self.path.stem)


class Commands(pytest.Item):
    def runtest(self):
        with tempfile.TemporaryDirectory() as tmp, pytest.MonkeyPatch.context() as patch:
            wrong = play(self.path, tmp, patch, self.config.getoption('verbose') > 0)
        if wrong: raise WrongCommands('\n'.join(wrong))

    def repr_failure(self, excinfo):
        if excinfo.errisinstance(WrongCommands): return str(excinfo.value)
        excinfo.traceback = excinfo.traceback.cut(path=self.path)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, self.name


def blocks(path):
    """Yields (kind, rest of the heading, lines, line number)."""
    kind = None
    for number, line in enumerate(path.read_text(encoding='utf-8').split('\n'), 1):
        if line.startswith('== '):
            if kind: yield kind, rest, lines, start
            kind, _, rest = line[3:].partition(' ')
            lines, start = [], number
        elif kind:
            lines.append(line)
        elif line and not line.startswith('#'):
            raise WrongCommands('%s:%d: text before the first block' % (path, number))
    if kind: yield kind, rest, lines, start


def holds(mark, expected, text):
    lines = text.split('\n')
    if mark == '': return expected in lines
    found = any(re.search(expected, line) for line in lines)
    return found if mark == '~' else not found


def cpu_time():
    """Of all children that have ended: commands run one after another."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play_run(rest, lines, looked_at, folder, verbose):
    """Runs one command; returns its failures. Python looks at its results if `looked_at`."""
    code, _, options = rest.partition(' ')
    limit = float(options.partition('limit=')[2] or 5)
    command, expectations = lines[0], [l for l in lines[1:] if l.strip() and not l.startswith('#')]
    before = cpu_time()
    try:
        done = subprocess.run(shlex.split(command), cwd=folder, capture_output=True, timeout=HANGS,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return ['still running after %g s' % HANGS]
    used = (cpu_time() - before) / len(os.sched_getaffinity(0))
    out, err = done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')
    wrong = []
    if not expectations and (code != '0' or not looked_at): wrong.append('its exit code alone is expected')
    if done.returncode != int(code): wrong.append('returned %d, expected %s' % (done.returncode, code))
    if used > limit: wrong.append('computed for %.1f s, more than %g' % (used, limit))
    if '\033' in out + err: wrong.append('printed an escape code to a pipe')
    for line in expectations:
        match = re.match(r'(2?)>([~!]?) ?(.*)$', line)
        if not match: wrong.append('not an expectation: ' + line)
        elif not holds(match[2], match[3], err if match[1] else out): wrong.append('not so: ' + line)
    printed = ['%s | %s' % (name, line) for name, text in (('stdout', out), ('stderr', err))
               for line in text.split('\n')[:40] if line]
    if verbose: print('\n    '.join([command] + printed))
    return wrong and wrong + printed


def play(path, tmp, patch, verbose):
    """Runs a transcript; returns its failures, a text for each command."""
    exe, bin_folder, folder = os.environ['CORTADO'], tmp + '/bin', tmp + '/work'
    os.mkdir(bin_folder), os.mkdir(folder)
    os.symlink(exe, bin_folder + '/cortado')
    for name in os.listdir(os.path.dirname(exe)):
        link = os.path.join(os.path.dirname(exe), name)
        if os.path.islink(link) and os.path.realpath(link) == os.path.realpath(exe):
            os.symlink(exe, bin_folder + '/' + name)
    patch.setenv('PATH', bin_folder, prepend=':')
    patch.chdir(folder)
    names, runs, found = dict(vars(fixtures)), 0, []
    all_blocks = list(blocks(path))
    for (kind, rest, lines, start), following in zip(all_blocks, all_blocks[1:] + [('',)]):
        place = '%s:%d: ' % (path, start)
        if kind == 'file':
            os.makedirs(os.path.dirname(os.path.join(folder, rest)), exist_ok=True)
            with open(os.path.join(folder, rest), 'w') as file: file.write('\n'.join(lines).strip('\n') + '\n')
        elif kind == 'make':
            program = compile('\n' * start + '\n'.join(lines), str(path), 'exec')  # tracebacks with its line numbers
            try: exec(program, names)
            except Exception:
                if not found: raise
                return found + [place + traceback.format_exc(limit=-1)]
            os.chdir(folder)
        elif kind == 'run':
            runs += 1
            wrong = play_run(rest, lines, following[0] == 'make', folder, verbose)
            if wrong: found.append('%s%s\n    %s' % (place, lines[0], '\n    '.join(wrong)))
        else: raise WrongCommands('%sunknown block %s' % (place, kind))
    return found if runs else ['%s: no commands' % path]
