"""Power loss while a program writes. The program's operations are recorded. For every prefix of them disk.py builds the
states that a disk may have: all operations complete, only synced ones, and random ones in between (--rounds). The
program is run again on 25 of these states, or on all with --all. A state that fails is kept in the test's tmp_path."""
import collections, hashlib, random, re, shutil

import pytest

from tests.faults import disk, programs, shim


def record(program, place):
    """The program's operations below its folder, and the folder's name in the record."""
    folder, path = place + '/recorded', place + '/record'
    shutil.copytree(program.begin, folder)
    done = shim.run(program.command(), folder, under=folder, record=path)
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    return disk.read_record(path), folder


def announced_snapshots(operations):
    """(number of operations, iteration) of each snapshot that the metrics announce."""
    for i, operation in enumerate(operations):
        if operation['op'] != 'write': continue
        found = re.match(rb'.*"ev":"snapshot","iter":(\d+)', operation['data'])
        if found: yield i + 1, int(found[1])


def trees(operations, program, root, choose, rounds):
    """[(number of operations, tree)]: each distinct tree once, after the largest number of operations."""
    draws = collections.Counter(choose.choices(range(1, len(operations) + 1), k=rounds))
    seen, state = {}, disk.Disk(root, program.begin)
    for i, operation in enumerate(operations, 1):
        state.do(operation)
        made = [state.after_loss(), state.least()] + [state.after_loss(choose) for _ in range(draws[i])]
        for tree in made: seen[digest(tree)] = (i, tree)
    return list(seen.values())


def digest(tree):
    sum = hashlib.sha1()
    for path in sorted(tree):
        sum.update(path.encode() + b'\0' + (b'/' if tree[path] is None else hashlib.sha1(tree[path]).digest()))
    return sum.digest()


def moved(tree, root, folder):
    """Changes the folder in a run's record, which has the folder where the run began."""
    return {path: f.replace(root.encode(), folder.encode()) if path.endswith('/run.json') and f else f
            for path, f in tree.items()}


@pytest.mark.parametrize('program', [programs.Training, programs.Resume, programs.Conversion, programs.Export,
                                     programs.New],
                         ids=lambda kind: kind.name, indirect=True)
def test_durable_data_survives(program, every, rounds, seed, inject_all, tmp_path):
    operations, root = record(program, str(tmp_path))
    snapshots = list(announced_snapshots(operations))
    states = trees(operations, program, root, random.Random(seed), rounds or 200)
    if not every:  # some, and the last states, in which most must be durable
        states = random.Random(seed).sample(states[:-3], min(25, len(states) - 3)) + states[-3:]
    print('%d operations' % len(operations))
    def lose(place, number):
        done, tree = states[number]
        folder = place + '/lost'
        disk.build(moved(tree, root, folder), root, folder)
        try: check(folder, done)
        except AssertionError:
            shutil.copytree(folder, tmp_path / str(number))
            raise
    def check(folder, done):
        if program.name in ('conversion', 'export', 'new'): return program.check_rest(folder, done == len(operations))
        announced = max((iteration for at, iteration in snapshots if at <= done), default=None)
        if announced:
            whole = program.whole_snapshots(folder)
            assert max(whole, default=-1) >= announced, 'iteration %d was announced, valid are %s' % (announced, whole)
        program.resume(folder)
    inject_all(lose, [(number,) for number in range(len(states))])
