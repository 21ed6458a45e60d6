"""Output to a pseudo-terminal: one progress line that fits any width, no log lines, colors unless disabled, and the
command that resumes after Ctrl-C."""
import codecs, fcntl, os, pty, re, shlex, signal, struct, subprocess, termios

import pytest

COLUMNS = 60


class Screen:
    """A minimal terminal: text, \\r, \\n, "erase to the end of the row" and "of the screen". When its width changes,
    lines are wrapped again, as in current terminals, or cut, as in older ones."""

    def __init__(self, columns, reflows):
        self.columns, self.reflows = columns, reflows
        self.lines, self.row, self.at = [''], 0, 0  # unwrapped lines
        self.broken, self.unread = [], ''  # lines that did not fit

    def take(self, text):
        text = self.unread + text
        at = 0
        while at < len(text):
            escape = re.match('\033(\\[[0-9;?]*[A-Za-z])?', text[at:])
            if escape and not escape[1]: break  # the escape sequence is incomplete
            at += len(escape[0]) if escape else 1
            if escape: self.erase(escape[1])
            else: self.put(text[at - 1])
        self.unread = text[at:]

    def erase(self, escape):
        line, end = self.lines[self.row], (self.at // self.columns + 1) * self.columns
        if escape == '[K': self.lines[self.row] = (line[:self.at].ljust(min(end, len(line))) + line[end:]).rstrip()
        elif escape == '[J': self.lines[self.row:] = [line[:self.at]]
        else: assert escape.endswith('m'), escape

    def put(self, char):
        line = self.lines[self.row]
        if char == '\r': self.at -= self.at % self.columns
        elif char == '\n':
            self.row += 1
            if self.row == len(self.lines): self.lines.append('')
            if not self.reflows or self.lines[self.row] == '': self.at = 0
        else:
            self.lines[self.row] = line[:self.at].ljust(self.at) + char + line[self.at + 1:]
            self.at += 1
            if len(self.lines[self.row]) > self.columns: self.broken.append(self.lines[self.row])

    def resize(self, columns):
        self.columns = columns
        if self.reflows: return
        self.lines = [line[:columns] for line in self.lines]
        self.at = min(self.at, columns - 1)


class Terminal:
    """A program with stderr on a terminal. `actions` are (pattern, function of this). Each is called when the
    output since the one before matches its pattern."""

    def __init__(self, place, *words, columns=COLUMNS, reflows=True, actions=(), **extra):
        self.ours, theirs = pty.openpty()
        self.screen = Screen(columns, reflows)
        self.resize(columns)
        env = {k: v for k, v in os.environ.items() if k != 'NO_COLOR'}
        env.update({'TERM': 'xterm', **extra})
        self.process = subprocess.Popen([place.exe, *words], cwd=place.name, env=env, stderr=theirs,
                                        stdout=subprocess.DEVNULL)
        os.close(theirs)
        self.shown, actions, since = '', list(actions), 0
        decoder = codecs.getincrementaldecoder('utf-8')()
        while True:
            try: data = os.read(self.ours, 65536)
            except OSError: break  # the other end is closed
            if not data: break
            part = decoder.decode(data)
            self.shown += part
            self.screen.take(part)
            if actions and re.search(actions[0][0], self.shown[since:]):
                since = len(self.shown)
                actions.pop(0)[1](self)
        os.close(self.ours)
        self.code = self.process.wait()
        assert not actions, (actions[0][0], self.shown[-2000:])

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        self.screen.resize(columns)

    def broken_but(self, whole):
        """Lines that did not fit, except `whole`, which may be long, and the hint that appears on a busy machine."""
        return [l for l in self.screen.broken
                if not any(l.startswith(w) or w.startswith(l) for w in (whole, 'hint: training waits for data'))]

    def lines(self): return [re.sub('\033\\[[KJ]', '', part) for part in re.split('[\r\n]+', self.shown)]


@pytest.fixture(scope='module')
def shared_place(training_folder):
    return training_folder(iters=400)


@pytest.fixture
def place(shared_place):
    """A training folder without snapshots."""
    shared_place.clear()
    return shared_place


@pytest.mark.parametrize('columns', [40, 60, 80, 200])
def test_progress_fits_the_terminal(place, columns):
    terminal = Terminal(place, 'train', '--solver=solver.prototxt', columns=columns)
    assert terminal.code == 0, terminal.shown[-2000:]
    lines = terminal.lines()
    progress = [l for l in lines if re.search(r'\d% .*loss ', l) and not l.startswith('trained')]
    assert progress, terminal.shown[-2000:]
    for line in progress:
        assert len(line) < columns and re.search(r'(^| )\d+%( |$)', line) and re.search(r'loss \d', line), line
        assert re.search(r'ETA (\d+h)?(\d+m)?(\d+s)?( |$)', line), line
    assert not any(re.match(r'I\d{4} ', l) for l in lines), 'log lines in addition to the progress line'
    assert any(re.match(r'test at \d+: accuracy', l) for l in lines)
    last = [l for l in lines if l][-1]
    assert last.startswith('next: cortado '), last
    assert not terminal.broken_but(last), terminal.screen.broken
    follow = subprocess.run([place.exe, *last.split()[2:]], cwd=place.name, capture_output=True)
    assert follow.returncode == 0, 'the suggested command fails: ' + last
    if columns < 60: return
    assert all(re.match(r'train \d+/400 +\d+% \[[#.]{10}\] loss ', l) for l in progress), progress
    if columns < 80: return
    # 400 batches of 16 from 300 records.
    epochs = [re.search(r' \| epoch (\d+\.\d)/21\.33( \| |$)', l) for l in progress]
    iters = [int(re.match(r'train (\d+)', l)[1]) for l in progress]
    assert all(epochs) and all(abs(float(e[1]) - i * 16 / 300) < 0.051 for e, i in zip(epochs, iters)), progress
    if columns == 200: assert re.search(r'\(avg20 .*lr .*img/s \| data .*best accuracy', progress[-1]), progress[-1]


def test_blocks_draw_loss_and_score(place):
    """In a UTF-8 locale, blocks draw loss and score if the terminal is wide enough."""
    blocks, shown = '▁▂▃▄▅▆▇█', {}
    for locale, columns in (('C.UTF-8', 160), ('C.UTF-8', 60), ('C', 160)):
        place.clear()
        terminal = Terminal(place, 'train', '--solver=solver.prototxt', columns=columns, LC_ALL=locale)
        assert terminal.code == 0 and not terminal.broken_but('next: '), terminal.shown[-2000:]
        lines = [l for l in terminal.lines() if re.search(r'ETA', l)]
        shown[locale, columns] = [l for l in lines if any(c in blocks for c in l)]
    wide = shown['C.UTF-8', 160]
    assert any(re.search('loss [0-9.e-]+ [%s]{2,12} ' % blocks, l) for l in wide), wide
    assert any(re.search('best accuracy [0-9.]+@[0-9]+ [%s]{2,12}(,|$)' % blocks, l) for l in wide), wide
    falls = re.search('loss [0-9.e-]+ ([%s]+)' % blocks, wide[-1])[1]
    assert blocks.index(falls[0]) > blocks.index(falls[-1]), 'the loss fell, but not its blocks: ' + falls
    assert not shown['C', 160], shown
    assert all(len(l) < 60 for l in shown['C.UTF-8', 60]), shown


@pytest.mark.parametrize('reflows', [True, False])
def test_resized_terminal_has_no_remains_of_lines(place, reflows):
    """Lines that were drawn for another width are erased, whether the terminal wraps or cuts them."""
    actions = [(r'\d% .*ETA', lambda t, columns=columns: t.resize(columns)) for columns in (30, 120, 45, 100, 25, 90)]
    terminal = Terminal(place, 'train', '--solver=solver.prototxt', '--set', 'solver.max_iter=4000',
                        '--set', 'solver.snapshot=0', '--set', 'solver.test_interval=10000',
                        columns=100, reflows=reflows, actions=actions)
    assert terminal.code == 0, terminal.shown[-2000:]
    rest = [line for line in terminal.screen.lines if line
            and not re.match(r'test at 0: |hint: |snapshot |trained |next: ', line)]
    assert not rest, terminal.screen.lines


def test_many_values_are_one_entry(place):
    """The accuracies of ten classes are one entry, and lines are not wrapped."""
    net = open(place.path('net.prototxt')).read()
    several = ''.join('layer { name: "loss%d" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" '
                      'top: "another_loss_%d" include { phase: TEST } }\n' % (i, i) for i in range(8))
    place.write('several.prototxt', net.replace('bottom: "label" top: "accuracy"',
                                                'bottom: "label" top: "accuracy" top: "by_class"')
                .replace('num_output: 4', 'num_output: 10') + several)
    words = ('train', '--solver=solver.prototxt', '--set=solver.net=several.prototxt')
    terminal = Terminal(place, *words, columns=80)
    place.clear()
    wide = Terminal(place, *words, columns=400)
    assert terminal.code == 0, terminal.shown[-2000:]
    tests = [l for l in terminal.lines() if re.match(r'test at \d+: accuracy', l)]
    assert tests and all(len(l) < 80 and re.search(r', \d+ more$', l) for l in tests), tests
    assert not terminal.broken_but('next: cortado test'), terminal.screen.broken
    tests = [l for l in wide.lines() if re.match(r'test at \d+: accuracy', l)]
    assert tests and all(re.search(r', by_class [\d.]+ to [\d.]+ \(10 values\)', l) and 'another_loss_7' in l
                         for l in tests), tests
    assert 'best by_class' not in wide.shown and 'best accuracy' in wide.shown


def test_interrupt_prints_how_to_resume(place):
    """The printed command is quoted for a shell and resumes the training."""
    terminal = Terminal(place, 'train', '-solver', 'solver.prototxt', '--set', 'solver.max_iter=100000',
                        '--set=solver.snapshot=100000', '--set=solver.snapshot_prefix="snap it"', '--seed=5',
                        '--no-eager', columns=300, actions=[(r'ETA', lambda t: t.process.send_signal(signal.SIGINT))])
    assert terminal.code == 130, terminal.shown[-2000:]
    lines = [l for l in terminal.screen.lines if l]
    assert 'stopping after this iteration, with a snapshot; a second signal stops at once' in lines, lines
    assert not [l for l in lines if 'ETA' in l], 'remains of the progress line: %s' % lines
    assert lines[-1].startswith('to resume: '), lines
    words = shlex.split(lines[-1][len('to resume: '):])
    state, = [n for n in os.listdir(place.name) if n.endswith('.solverstate')]
    assert state.startswith('snap it_iter_'), words
    assert words[:2] == ['cortado', 'train'] and words[-1] == '--snapshot=' + state, words
    iters = int(re.search(r'\d+', state)[0]) + 5
    again = subprocess.run(words + ['--set=solver.max_iter=%d' % iters], cwd=place.name, capture_output=True, text=True)
    restored = 'Restoring previous solver status from ' + state in again.stderr
    assert again.returncode == 0 and restored, again.stderr[-2000:]
    assert os.path.exists(place.path('snap it_iter_%d.caffemodel' % iters))


def test_verbose_shows_the_log(place):
    assert 'Optimization Done.' in Terminal(place, 'train', '--solver=solver.prototxt', '-v').shown


def test_colors_can_be_disabled(place):
    assert '\033[1;31merror:' in Terminal(place, 'check', 'nowhere').shown
    assert '\033' not in Terminal(place, 'check', 'nowhere', '--no-color').shown
    assert '\033' not in Terminal(place, 'check', 'nowhere', NO_COLOR='1').shown
    assert '\033' not in Terminal(place, 'check', 'nowhere', TERM='dumb').shown
