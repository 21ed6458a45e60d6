#!/usr/bin/python3
"""What a terminal sees, through a pseudo-terminal: one progress line that fits, no log lines, colours unless forbidden.

    terminal.py CORTADO
"""
import fcntl, os, pty, re, struct, subprocess, sys, termios
from workplace import Workplace

COLUMNS = 60


def on_terminal(place, *words, **extra):
    """Runs with stderr on a terminal of COLUMNS; returns the exit code and what it showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, COLUMNS, 0, 0))
    env = {k: v for k, v in os.environ.items() if k != 'NO_COLOR'}
    env.update({'TERM': 'xterm', **extra})
    process = subprocess.Popen([place.exe, *words], cwd=place.name, env=env, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = b''
    while True:
        try: part = os.read(ours, 65536)
        except OSError: break  # the other side is closed
        if not part: break
        shown += part
    os.close(ours)
    return process.wait(), shown.decode()

def check_progress(place):
    code, shown = on_terminal(place, 'train', '--solver=solver.prototxt')
    assert code == 0, shown[-2000:]
    lines = [re.sub('\033\\[K', '', part) for part in re.split('[\r\n]+', shown)]
    progress = [l for l in lines if re.match(r'train \d+/\d+ +\d+% \[[#.]{10}\] loss ', l)]
    assert progress, shown[-2000:]
    assert all(len(l) < COLUMNS for l in progress), progress
    assert not any(re.match(r'I\d{4} ', l) for l in lines), 'log lines besides the progress line'
    assert any(re.match(r'test at \d+: accuracy', l) for l in lines)
    last = [l for l in lines if l][-1]
    assert last.startswith('next: cortado '), last
    follow = subprocess.run([place.exe, *last.split()[2:]], cwd=place.name, capture_output=True)
    assert follow.returncode == 0, 'what was suggested does not work: ' + last

def check_verbose(place):
    _, shown = on_terminal(place, 'train', '--solver=solver.prototxt', '-v')
    assert 'Optimization Done.' in shown

def check_colours(place):
    assert '\033[1;31merror:' in on_terminal(place, 'check', 'nowhere')[1]
    assert '\033' not in on_terminal(place, 'check', 'nowhere', '--no-color')[1]
    assert '\033' not in on_terminal(place, 'check', 'nowhere', NO_COLOR='1')[1]
    assert '\033' not in on_terminal(place, 'check', 'nowhere', TERM='dumb')[1]

def main():
    place = Workplace(sys.argv[1], iters=400)
    for check in (check_progress, check_verbose, check_colours):
        check(place)
        print(check.__name__, 'ok')


main()
