#!/usr/bin/python3
"""Plays transcripts: command lines, what they must print and return.

    run_transcripts.py CORTADO FILE.test... [-v]

A transcript is text in blocks, run in order in one empty folder:
    == file NAME           the lines up to the next block become a file
    == make                the lines are Python, with the functions of fixtures.py at hand
    == run CODE [limit=S]  the first line is a command, which must return CODE within S (5) seconds; then, one a line:
        > TEXT     stdout has this line          >~ REGEX    a line of stdout matches         >! REGEX   none does
        2> TEXT    stderr has this line          2>~ REGEX   a line of stderr matches         2>! REGEX  none does
Lines that start with # between blocks are comments. `cortado`, and the symlinks to it with Caffe's names that the build
puts beside it, are on PATH. Whatever a transcript says, no command may die by a signal or print an escape code.
"""
import argparse, os, re, shlex, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fixtures

PATH = os.environ['PATH']
def blocks(path):
    """Yields (kind, rest of the heading, lines, line number)."""
    kind = None
    for number, line in enumerate(open(path, encoding='utf-8').read().split('\n'), 1):
        if line.startswith('== '):
            if kind: yield kind, rest, lines, start
            kind, _, rest = line[3:].partition(' ')
            lines, start = [], number
        elif kind:
            lines.append(line)
        elif line and not line.startswith('#'):
            raise SystemExit('%s:%d: text before the first block' % (path, number))
    if kind: yield kind, rest, lines, start


def holds(mark, wanted, text):
    lines = text.split('\n')
    if mark == '': return wanted in lines
    found = any(re.search(wanted, line) for line in lines)
    return found if mark == '~' else not found


def play_run(rest, lines, folder, env, verbose):
    """Runs one command; returns what is wrong with it."""
    code, _, options = rest.partition(' ')
    limit = float(options.partition('limit=')[2] or 5)
    command, expectations = lines[0], [l for l in lines[1:] if l.strip() and not l.startswith('#')]
    try:
        done = subprocess.run(shlex.split(command), cwd=folder, env=env, capture_output=True, timeout=limit,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return ['still running after %g s' % limit]
    out, err = done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')
    wrong = []
    if done.returncode != int(code): wrong.append('returned %d, expected %s' % (done.returncode, code))
    if '\033' in out + err: wrong.append('printed an escape code into a pipe')
    for line in expectations:
        match = re.match(r'(2?)>([~!]?) ?(.*)$', line)
        if not match: raise SystemExit('not an expectation: ' + line)
        if not holds(match[2], match[3], err if match[1] else out): wrong.append('not so: ' + line)
    if wrong or verbose:
        for name, text in (('stdout', out), ('stderr', err)):
            wrong += ['%s | %s' % (name, line) for line in text.split('\n')[:40] if line]
    return wrong


def play(path, exe, verbose):
    """Plays one transcript; returns (runs, failures)."""
    runs = failures = 0
    with tempfile.TemporaryDirectory() as tmp:
        bin_folder, folder = tmp + '/bin', tmp + '/work'
        os.mkdir(bin_folder), os.mkdir(folder)
        os.symlink(exe, bin_folder + '/cortado')
        for name in os.listdir(os.path.dirname(exe)):
            beside = os.path.join(os.path.dirname(exe), name)
            if os.path.islink(beside) and os.path.realpath(beside) == os.path.realpath(exe):
                os.symlink(exe, bin_folder + '/' + name)
        env = dict(os.environ, PATH=bin_folder + ':' + PATH, OMP_WAIT_POLICY='passive')
        os.environ['PATH'] = env['PATH']  # for what fixtures run
        names = dict(vars(fixtures))
        for kind, rest, lines, start in blocks(path):
            if kind == 'file':
                name = os.path.join(folder, rest)
                os.makedirs(os.path.dirname(name), exist_ok=True)
                open(name, 'w').write('\n'.join(lines).strip('\n') + '\n')
            elif kind == 'make':
                here = os.getcwd()
                os.chdir(folder)
                exec('\n'.join(lines), names)
                os.chdir(here)
            elif kind == 'run':
                runs += 1
                wrong = play_run(rest, lines, folder, env, verbose)
                bad = [w for w in wrong if not w.startswith('std')]
                if bad: failures += 1
                if wrong: print('%s:%d: %s\n    %s' % (path, start, lines[0], '\n    '.join(wrong)))
            else: raise SystemExit('%s:%d: no block is called %s' % (path, start, kind))
    return runs, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cortado')
    parser.add_argument('transcripts', nargs='+')
    parser.add_argument('-v', action='store_true')
    options = parser.parse_args()
    runs = failures = 0
    for path in options.transcripts:
        ran, failed = play(path, os.path.abspath(options.cortado), options.v)
        runs, failures = runs + ran, failures + failed
    print('%d commands, %d wrong' % (runs, failures))
    sys.exit(failures > 0 or runs == 0)


main()
