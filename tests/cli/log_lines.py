#!/usr/bin/python3
"""Reads our log by the rules of the programs that read Caffe's: plots, CSV makers, DIGITS. log_lines.py CORTADO"""
import datetime, re, subprocess, sys
from workplace import Workplace


def seconds_of_line(line):
    """Month, day and time as the script that computes elapsed seconds takes them: by position, without a year."""
    words = line.strip().split()
    month, day = int(words[0][1:3]), int(words[0][3:])
    time, _, micro = words[1].rpartition('.')
    hour, minute, second = [int(x) for x in time.split(':')]
    return datetime.datetime(2026, month, day, hour, minute, second, int(micro))

def check_elapsed(lines):
    start = next(l for l in lines if 'Solving' in l)
    begin = seconds_of_line(start)
    times = [seconds_of_line(l) - begin for l in lines if 'Iteration' in l]
    assert len(times) > 10 and all(t >= datetime.timedelta(0) for t in times), times

def check_table(lines):
    """Rows of iteration, output, value and rate, as the CSV maker's expressions find them."""
    iteration, rate, train, test = -1, None, [], []
    for line in lines:
        match = re.search(r'Iteration (\d+)', line)
        if match: iteration = int(match[1])
        if iteration < 0: continue
        match = re.search(r'lr = ([-+]?[0-9]*\.?[0-9]+([eE]?[-+]?[0-9]+)?)', line)
        if match: rate = float(match[1])
        for kind, rows in (('Train', train), ('Test', test)):
            match = re.search(kind + r' net output #(\d+): (\S+) = ([\.\deE+-]+)', line)
            if match: rows.append((iteration, match[2], float(match[3])))
    assert [r[0] for r in train] == [0, 20, 40, 60, 80], train
    assert {r[1] for r in train} == {'loss'}
    assert sorted({r[0] for r in test}) == [0, 50, 100], test
    assert {r[1] for r in test} == {'accuracy', 'loss'}
    assert rate == 0.005, rate

def check_columns(lines):
    """What awk cuts out of lines by counting words, or at '='."""
    accuracy = [l.split()[10] for l in lines if 'Test net output #0' in l]
    assert len(accuracy) == 3 and all(0 <= float(a) <= 1 for a in accuracy), accuracy
    rates = [l.split()[8] for l in lines if ', lr = ' in l]
    assert len(rates) == 5 and all(float(r) > 0 for r in rates), rates
    losses = [l.split('=')[1] for l in lines if re.search(r'\] Iteration .*, loss = ', l)]
    assert len(losses) == 6 and all(float(v) >= 0 for v in losses), losses

def check_digits(lines):
    """The prefix without a year, the two snapshot lines one after the other, memory, batch size, max_iter."""
    messages = []
    for line in lines:
        match = re.match(r'\w\d{4} \S+\s+\d+ \S+\] (.*)$', line)
        if match: messages.append(match[1])
    text = '\n'.join(messages)
    assert re.search(r'^Iteration 0, Testing net \(#0\)$', text, re.M)
    assert re.search(r'^Memory required for data:\s+\d+$', text, re.M)
    assert re.search(r'^Iteration 20 \([\d.e+]+ iter/s, [\d.e-]+s/20 iters\), loss = [\d.]+$', text, re.M), text
    assert re.search(r'^Iteration 100, loss = [\d.]+$', text, re.M)
    assert messages[-1] == 'Optimization Done.', messages[-1]
    first = next(i for i, m in enumerate(messages) if m.startswith('Snapshotting to binary proto file '))
    assert re.match(r'Snapshotting to binary proto file (snap_iter_50\.caffemodel)$', messages[first])
    assert re.match(r'Snapshotting solver state to binary proto file (snap_iter_50\.solverstate)$', messages[first + 1])
    assert any(re.match(r'max_iter: 100$', l) for l in lines)
    assert 'Learning Rate Policy: multistep' in messages
    assert any(re.match(r'MultiStep Status: Iteration 60, step = 1$', m) for m in messages)
    assert any(m.startswith('Solving watched') for m in messages)

def main():
    place = Workplace(sys.argv[1], iters=100, snapshot=50)
    done = subprocess.run([place.exe, 'train', '--solver=solver.prototxt'], cwd=place.name, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == '' and '\033' not in done.stderr
    lines = done.stderr.split('\n')
    for check in (check_elapsed, check_table, check_columns, check_digits): check(lines)
    assert all(re.match(r'I\d{4} ', l) for l in lines if 'Iteration' in l), 'Iteration without a prefix'
    print('%d lines read by four sets of rules' % len(lines))


main()
