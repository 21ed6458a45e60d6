"""Every call of the system that a program makes fails, once or from then on, writes half, is interrupted, or is the
last: after each the disk is looked at, and the program is run again. A sample of --rounds calls of each program is
struck, or --all."""
import collections, random, shutil

import pytest

from tests.faults import programs, shim

MOVED = pytest.mark.xfail(strict=True, reason='snapshots that its child cannot read now are moved to snap_before_DATE')
ALL = [programs.Training, programs.Resume, pytest.param(programs.Hdf5, marks=MOVED), programs.Conversion,
       programs.Report]


def count_calls(program, place):
    """How often each group of calls is made without faults; of several processes, by the one that makes most."""
    folder, log = place + '/count', place + '/count.log'
    shutil.copytree(program.begin, folder)
    done = shim.run(program.command(), folder, log=log, under=folder, program=program.struck)
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    lines = [line for line in shim.read_log(log, remove=True) if line[0] == 'call']
    processes, counts = collections.Counter((line[3], line[1]) for line in lines), {}
    for (_, group), count in processes.items(): counts[group] = max(count, counts.get(group, 0))
    return counts


@pytest.mark.parametrize('program', ALL, ids=lambda kind: kind.name, indirect=True)
def test_no_fault_loses_anything(program, place, every, rounds, seed, strike_all):
    counts = count_calls(program, place)
    print(', '.join('%d %s' % (n, group) for group, n in sorted(counts.items())))
    faults, struck = list(shim.faults_of(counts)), []
    if not every: faults = random.Random(seed).sample(faults, min(rounds or 15, len(faults)))
    def strike(folder, group, k, action):
        inside, log = folder + '/work', folder + '/log'
        shutil.copytree(program.begin, inside)
        done = shim.run(program.command(), inside, rules=['%s:%d:%s' % (group, k, action)], log=log, under=inside,
                        program=program.struck)
        program.check(inside, done, action)
        struck.append(shim.fired(log))
    strike_all(strike, faults)
    print('%d of them were struck' % sum(struck))
