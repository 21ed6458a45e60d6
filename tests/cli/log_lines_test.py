"""Parses our logs by the rules of Caffe's log readers: parse_log.py, extract_seconds.py, the shell scripts that write
tables for gnuplot, and DIGITS. Some runs have output that is hard to parse: names with blanks, outputs of many
elements, nan, no snapshot_prefix, a snapshot_prefix that is a folder."""
import datetime, os, re

import pytest

FLOAT = r'(NaN|[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)'


# The readers.

def moment_of(line, year):
    """By position, as extract_seconds.py parses it: month and day without a year, then the time."""
    words = line.strip().split()
    month, day = int(words[0][1:3]), int(words[0][3:])
    time, _, micro = words[1].rpartition('.')
    hour, minute, second = [int(x) for x in time.split(':')]
    return datetime.datetime(year, month, day, hour, minute, second, int(micro))

def extract_seconds(lines, year=2024):
    """Seconds from the line 'Solving' to every line 'Iteration'; an earlier month is in the next year."""
    start = next(moment_of(line, year) for line in lines if 'Solving' in line)
    last, seconds = start, []
    for line in lines:
        if 'Iteration' not in line: continue
        moment = moment_of(line, year)
        if moment.month < last.month: year, moment = year + 1, moment_of(line, year + 1)
        last = moment
        seconds.append((moment - start).total_seconds())
    return seconds

def parse_log(lines):
    """Rows of parse_log.py for training and test: iteration, rate, then the outputs of this iteration. It skips values
    that its expression does not match, such as nan."""
    iteration, rate, tables = -1, float('nan'), {'Train': [], 'Test': []}
    for line in lines:
        match = re.search(r'Iteration (\d+)', line)
        if match: iteration = int(match[1])
        if iteration == -1: continue
        match = re.search(r'lr = ([-+]?[0-9]*\.?[0-9]+([eE]?[-+]?[0-9]+)?)', line)
        if match: rate = float(match[1])
        for kind, rows in tables.items():
            match = re.search(kind + r' net output #(\d+): (\S+) = ([\.\deE+-]+)', line)
            if not match: continue
            if not rows or rows[-1]['NumIters'] != iteration: rows.append({'NumIters': iteration, 'LearningRate': rate})
            rows[-1][match[2]] = float(match[3])
    return tables['Train'], tables['Test']

def shell_tables(lines):
    """The columns of the test and of the training table, as Caffe's grep, sed and awk cut them out: by the number of
    the word, or at '='."""
    about_tests = [i for i, line in enumerate(lines) if 'Test ' in line]
    near = sorted({j for i in about_tests for j in (i - 1, i)})  # grep -B 1
    number = lambda line: re.sub(r'.*Iteration ([0-9]*).*', r'\1', line)
    test = [[number(lines[j]) for j in near if 'Iteration ' in lines[j]],
            [line.split()[10] for line in lines if 'Test net output #0' in line],
            [line.split()[10] for line in lines if 'Test net output #1' in line]]
    losses = [line for line in lines if ', loss = ' in line]
    train = [[number(line) for line in losses if 'Iteration ' in line], [line.split('=')[1] for line in losses],
             [line.split()[8] for line in lines if ', lr = ' in line]]
    return test, train

def digits(lines):
    """Events of DIGITS' reader, in order. It expects prefixes without a year."""
    events, saving = [], False
    for line in lines:
        match = re.match(r'(\w)(\d{4} \S*).*]\s+(\S.*)$', line)
        if not match: continue
        datetime.datetime.strptime('2024' + match[2], '%Y%m%d %H:%M:%S.%f')
        message = match[3]
        if saving:
            assert message.startswith('Snapshotting solver state'), 'no solver state after the weights: ' + message
            saving = False
        for kind, rule in (('test', r'Iteration (\d+), Testing net \(#0\)$'),
                           ('iteration', r'Iteration (\d+).*loss = ' + FLOAT),
                           ('rate', r'Iteration (\d+), lr = ' + FLOAT),
                           ('train', r'Train net output #\d+: (\S*) = ' + FLOAT),
                           ('score', r'Test net output #\d+: (\S*) = ' + FLOAT),
                           ('memory', r'Memory required for data:\s+(\d+)'),
                           ('snapshot', r'Snapshotting to binary proto file\s+(\S+)\s*$'),
                           ('done', r'(Optimization Done\.)$')):
            match = re.match(rule, message, re.IGNORECASE)
            if match: events.append((kind,) + match.groups())
            if match and kind == 'snapshot': saving = True
    return events


@pytest.fixture(scope='module')
def place(training_folder):
    return training_folder(iters=100, snapshot=50)


@pytest.fixture(scope='module')
def train(place, run):
    """train('--solver=solver.prototxt') is the log's lines."""
    def train(*flags, code=0):
        done = run('train', *flags, cwd=place.name, code=code)
        assert done.stdout == ''
        return done.stderr.split('\n')
    return train


@pytest.fixture(scope='module')
def plain(train):
    """The log of a training with defaults."""
    return train('--solver=solver.prototxt')


@pytest.fixture(scope='module')
def odd(place, train):
    """The log of a training with outputs that are hard to parse."""
    with open(place.path('net.prototxt')) as file: net = file.read()
    place.write('odd.prototxt', net + '''
layer { name: "probs" type: "Softmax" bottom: "ip" top: "a b\\n Iteration 1" include { phase: TEST } }
layer { name: "shift" type: "Power" bottom: "loss" top: "below"
  power_param { scale: 0 shift: -1 } include { phase: TEST } }
layer { name: "log" type: "Log" bottom: "below" top: "z\\tnan" include { phase: TEST } }
''')
    return train('--solver=solver.prototxt', '--set', 'solver.net=odd.prototxt')


@pytest.fixture(scope='module')
def diverged(train, odd):
    """The log of a training that diverges, with the same outputs."""
    return train('--solver=solver.prototxt', '--set=solver.net=odd.prototxt', '--set=solver.base_lr=1e30',
                 '--set=solver.display=1', code=7)


def messages_of(lines): return [re.sub(r'^\w\d{4} \S+\s+\d+ \S+\] ', '', line) for line in lines]


def test_seconds_pass_the_new_year():
    assert extract_seconds(['I1231 23:59:59.500000 1 a.cc:1] Solving',
                            'I0101 00:00:00.250000 1 a.cc:1] Iteration 1']) == [0.75]


@pytest.mark.parametrize('log', ['plain', 'odd'])
def test_prefixes(request, log):
    """Level, month and day, time, the thread right-aligned in five columns, file and line, one blank. No line without a
    prefix contains Iteration."""
    lines = request.getfixturevalue(log)
    logged = [line for line in lines if re.match(r'[IWEF]\d', line)]
    assert len(logged) > 30
    prefix = r'[IWEF](\d{4}) \d\d:\d\d:\d\d\.\d{6} (?= *\d+ )[ \d]{5,} [\w.]+:\d+\] '
    for line in logged: assert re.match(prefix, line), line
    assert not [line for line in lines if 'Iteration' in line and line not in logged]


@pytest.mark.parametrize('log', ['plain', 'odd', 'diverged'])
def test_numbers(request, log):
    """Six digits, and nan without a sign."""
    for line in request.getfixturevalue(log):
        if not re.search(r'(loss|lr|output #\d+: \S+) = ', line): continue
        for number in re.findall(r'= ([-+\w.]+)', line):
            assert number == ('%g' % float(number)).lower() and number != '-nan', line
        if 'iters), loss' in line: assert line.count('=') == 1, line


def test_no_line_without_a_prefix_contains_iteration(diverged):
    assert not [line for line in diverged if 'Iteration' in line and not re.match(r'I\d{4} ', line)]


def test_seconds_csv_and_tables(plain):
    seconds = extract_seconds(plain)
    assert len(seconds) > 10 and seconds == sorted(seconds) and seconds[0] >= 0, seconds
    train, test = parse_log(plain)
    assert [row['NumIters'] for row in train] == [0, 20, 40, 60, 80] and all(set(r) >= {'loss'} for r in train), train
    assert [row['NumIters'] for row in test] == [0, 50, 100] and all(set(r) >= {'loss', 'accuracy'} for r in test), test
    # The rate of the row before: the line `lr = ` is the last one of an iteration.
    assert [row['LearningRate'] for row in train][1:] == [0.01, 0.01, 0.01, 0.005], train
    # Lines about restarts may appear anywhere, as in Caffe.
    (iterations, accuracies, losses), (numbers, means, rates) = shell_tables(
        [line for line in plain if 'Restarting data prefetching' not in line])
    assert iterations == ['0', '50', '100'] and numbers == ['0', '20', '40', '60', '80', '100'], (iterations, numbers)
    assert [float(a) for a in accuracies] == [row['accuracy'] for row in test]
    assert [float(l) for l in losses] == [row['loss'] for row in test]
    assert len(means) == 6 and all(float(mean) > 0 for mean in means)
    assert [float(rate) for rate in rates] == [0.01, 0.01, 0.01, 0.005, 0.005]


def test_digits(plain):
    events = digits(plain)
    kinds = [event[0] for event in events]
    assert kinds.count('test') == 3 and kinds.count('rate') == 5 and kinds.count('iteration') == 6, kinds
    assert kinds.count('memory') == 1 and kinds[-1] == 'done'
    assert [e[1] for e in events if e[0] == 'snapshot'] == ['snap_iter_50.caffemodel', 'snap_iter_100.caffemodel']
    for i, kind in enumerate(kinds):
        if kind == 'iteration' and events[i][1] != '100': assert kinds[i + 1:i + 3] == ['train', 'rate'], kinds[i:i + 3]
    text = '\n'.join(messages_of(plain))
    assert re.search(r'^max_iter: 100$', text, re.M) and '\nSolving watched\n' in text
    assert re.search(r'^Iteration 20 \([\d.e+]+ iter/s, [\d.e-]+s/20 iters\), loss = [\d.]+$', text, re.M), text
    assert re.search(r'^Iteration 100, loss = [\d.]+$', text, re.M)
    assert '\nLearning Rate Policy: multistep\n' in text and '\nMultiStep Status: Iteration 60, step = 1\n' in text


def test_odd_outputs(odd):
    """A name with blanks is one word, elements are numbered across all outputs, nan is nan."""
    outputs = [re.match(r'    Test net output #(\d+): (\S+) = (\S+)( |$)', m) for m in messages_of(odd)
               if 'Test net output' in m]
    assert all(outputs), odd
    numbers, names = [int(m[1]) for m in outputs], [m[2] for m in outputs]
    count = numbers.index(0, 1)
    assert numbers == list(range(count)) * (len(numbers) // count)
    assert names[:count].count('a_b__Iteration_1') == 64 and names[count - 1] == 'z_nan', names[:count]
    assert {m[3] for m in outputs if m[2] == 'z_nan'} == {'nan'}
    assert [row['NumIters'] for row in parse_log(odd)[1]] == [0, 50, 100]
    assert 'z_nan' not in parse_log(odd)[1][0], 'parse_log.py skips nan'
    assert ('score', 'z_nan', 'nan') in digits(odd), 'DIGITS reads nan'


def test_restarts_and_snapshots(place, plain, train):
    """Training reads 100 batches of 16 from 300 records; three tests read 144, too few for a restart."""
    place.clear()
    restarts = lambda lines: sum('] Restarting data prefetching from start.' in line for line in lines)
    assert (restarts(plain), restarts(train('--solver=solver.prototxt', '--verbose'))) == (1, 5)
    for name in ('snap_iter_50', 'snap_iter_100'):
        for extension in ('.caffemodel', '.solverstate'): assert os.path.exists(place.path(name + extension)), name


@pytest.mark.parametrize('flags, stem', [((), 'sub/my.solver'),
                                         (('--set', 'solver.snapshot_prefix=kept'), 'kept/my.solver')])
def test_snapshot_prefix_by_default_and_as_a_folder(place, train, flags, stem):
    """The default is the solver's path without its extension; in a folder, the solver's name."""
    for folder in ('sub', 'kept'): os.makedirs(place.path(folder), exist_ok=True)
    with open(place.path('solver.prototxt')) as file: solver = file.read()
    place.write('sub/my.solver.prototxt', solver.replace('snapshot_prefix: "snap"\n', ''))
    train('--solver=sub/my.solver.prototxt', '--set', 'solver.max_iter=3', '--set',
          'solver.test_initialization=false', *flags)
    for extension in ('caffemodel', 'solverstate'):
        assert os.path.exists(place.path('%s_iter_3.%s' % (stem, extension)))
