#!/usr/bin/python3
"""Every call of the system that a program makes fails, once or from then on, writes half, is interrupted, or is the
last: after each the disk is looked at, and the program is run again.

    sweep.py CORTADO FAULT_CALLS.so [--all] [--programs training resume] [--jobs 2] [--seed N] [--keep]

Without --all a sample of the calls is struck. Files lie in memory where /dev/shm is one.
"""
import argparse, collections, concurrent.futures, os, random, shutil, sys, tempfile, time
import programs, shim

STATE = {}


def count_calls(program, place):
    """How often each group of calls is made without faults; of several processes, by the one that makes most."""
    folder, log = place + '/count', place + '/count.log'
    shutil.copytree(program.begin, folder)
    done = shim.run(program.command(), folder, log=log, under=folder, program=program.struck)
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    lines = [line for line in shim.read_log(log, remove=True) if line[0] == 'call']
    processes = collections.Counter((line[3], line[1]) for line in lines)
    counts = {}
    for (_, group), count in processes.items(): counts[group] = max(count, counts.get(group, 0))
    return counts, {line[2] for line in lines}


def strike(name, group, k, action):
    """One fault. (whether a call was struck, what was violated or '')"""
    program = STATE[name]
    folder = tempfile.mkdtemp(dir=STATE['place'])
    inside, log = folder + '/work', folder + '/log'
    try:
        shutil.copytree(program.begin, inside)
        done = shim.run(program.command(), inside, rules=['%s:%d:%s' % (group, k, action)], log=log, under=inside,
                        program=program.struck)
        program.check(inside, done, action)
        return shim.fired(log), ''
    except programs.Violation as violation:
        return True, '%s, %s %d, %s: %s' % (name, group, k, action, violation)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make(options, place):
    STATE['place'] = place
    for kind in programs.ALL:
        if kind.name in options.programs: STATE[kind.name] = kind(options.cortado, '%s/%s' % (place, kind.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cortado', type=os.path.abspath)
    parser.add_argument('library', type=os.path.abspath)
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--sample', type=int, default=60, help='faults in all without --all')
    parser.add_argument('--programs', nargs='+', default=['training', 'resume', 'conversion', 'report'])
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    shim.LIBRARY = options.library
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as place:
        make(options, place)
        faults, functions = [], set()
        for name in options.programs:
            counts, names = count_calls(STATE[name], place)
            print('%s: %s' % (name, ', '.join('%d %s' % (n, group) for group, n in sorted(counts.items()))))
            faults += [(name, *fault) for fault in shim.faults_of(counts)]
            functions |= names
        if not options.all: faults = random.Random(options.seed).sample(faults, min(options.sample, len(faults)))
        struck, violations, begin = 0, [], time.monotonic()
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            for i, (hit, violation) in enumerate(pool.map(strike, *zip(*faults), chunksize=1)):
                struck += hit
                if violation:
                    violations.append(violation)
                    print(violation, flush=True)
                if (i + 1) % 200 == 0: print('%d of %d' % (i + 1, len(faults)), flush=True)
    print('faults: %d programs, %d calls, %d faults (%d struck): %d violations (%d s, seed %d)' %
          (len(options.programs), len(functions), len(faults), struck, len(violations), time.monotonic() - begin,
           options.seed))
    return 1 if violations else 0


if __name__ == '__main__': sys.exit(main())
