"""Injects faults into each system call of a program: an error, once or from then on, a short transfer, an interruption,
or the end of the process. After each fault the files are checked, and the program is run again. A sample of --rounds
faults for each program, or --all."""
import collections, random, shutil

import pytest

from tests.faults import programs, shim

MOVED = pytest.mark.xfail(strict=True, reason='snapshots that the child cannot read are moved to snap_before_DATE')
ALL = [programs.Training, programs.Resume, pytest.param(programs.Hdf5, marks=MOVED), programs.Conversion,
       programs.Report, programs.Export, programs.New]


def count_calls(program, place):
    """{group: number of calls} without faults; of several processes, the largest number."""
    folder, log = place + '/count', place + '/count.log'
    shutil.copytree(program.begin, folder)
    done = shim.run(program.command(), folder, log=log, under=folder, program=program.child)
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    lines = [line for line in shim.read_log(log, remove=True) if line[0] == 'call']
    processes, counts = collections.Counter((line[3], line[1]) for line in lines), {}
    for (_, group), count in processes.items(): counts[group] = max(count, counts.get(group, 0))
    return counts


@pytest.mark.parametrize('program', ALL, ids=lambda kind: kind.name, indirect=True)
def test_no_fault_loses_data(program, place, every, rounds, seed, inject_all):
    counts = count_calls(program, place)
    print(', '.join('%d %s' % (n, group) for group, n in sorted(counts.items())))
    faults, injected = list(shim.faults_of(counts)), []
    if not every: faults = random.Random(seed).sample(faults, min(rounds or 15, len(faults)))
    def inject(folder, group, k, action):
        inside, log = folder + '/work', folder + '/log'
        shutil.copytree(program.begin, inside)
        done = shim.run(program.command(), inside, rules=['%s:%d:%s' % (group, k, action)], log=log, under=inside,
                        program=program.child)
        program.check(inside, done, action)
        injected.append(shim.fired(log))
    inject_all(inject, faults)
    print('%d faults were injected' % sum(injected))
