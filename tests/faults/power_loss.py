#!/usr/bin/python3
"""Power is lost while a program writes: what it did is recorded, and disk.py makes of every prefix of it what a disk
may hold then: all of it, only what was synced, and at random what lies between. On each the program is run again.

    power_loss.py CORTADO FAULT_CALLS.so [--all] [--random 200] [--programs training conversion] [--seed N]
"""
import argparse, collections, hashlib, os, random, re, shutil, sys, tempfile, time
import disk, programs, shim


def record(program, place):
    """What the program did below its folder; the folder's name in the record."""
    folder, path = place + '/recorded', place + '/record'
    shutil.copytree(program.begin, folder)
    done = shim.run(program.command(), folder, under=folder, record=path)
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    return disk.read_record(path), folder


def said_snapshots(operations, root):
    """(number of operations, iteration) of each snapshot that the metrics announce."""
    for i, operation in enumerate(operations):
        if operation['op'] != 'write': continue
        found = re.match(rb'.*"ev":"snapshot","iter":(\d+)', operation['data'])
        if found: yield i + 1, int(found[1])


def trees(operations, program, root, options):
    """(number of operations done, tree): each tree once, where the most had been promised."""
    seen, choose = {}, random.Random(options.seed)
    draws = collections.Counter(choose.choices(range(1, len(operations) + 1), k=options.random))
    state = disk.Disk(root, program.begin)
    for i, operation in enumerate(operations, 1):
        state.do(operation)
        made = [state.after_loss(), state.least()]
        made += [state.after_loss(choose) for _ in range(draws[i])]
        for tree in made: seen[digest(tree)] = (i, tree)
    return list(seen.values())


def digest(tree):
    sum = hashlib.sha1()
    for path in sorted(tree):
        sum.update(path.encode() + b'\0' + (b'/' if tree[path] is None else hashlib.sha1(tree[path]).digest()))
    return sum.digest()


def moved(tree, root, folder):
    """A run's record says where it was begun; there is nothing any more."""
    return {path: f.replace(root.encode(), folder.encode()) if path.endswith('/run.json') and f else f
            for path, f in tree.items()}


def check(program, tree, root, place, announced, finished):
    folder = place + '/lost'
    shutil.rmtree(folder, ignore_errors=True)
    disk.build(moved(tree, root, folder), root, folder)
    if program.name == 'conversion': return program.check_rest(folder, finished)
    if announced:
        whole = program.whole_snapshots(folder)
        programs.must(max(whole, default=-1) >= announced, 'the snapshot of iteration %d was announced, and whole are '
                      '%s' % (announced, whole))
    program.resume(folder)


def lose(program, place, options):
    """(trees looked at, violations)"""
    operations, root = record(program, place)
    said = list(said_snapshots(operations, root))
    count, wrong = 0, 0
    all_trees = trees(operations, program, root, options)
    if not options.all:  # the last ones, of which most was promised, and some
        some = random.Random(options.seed).sample(all_trees[:-3], min(options.sample, len(all_trees) - 3))
        all_trees = some + all_trees[-3:]
    for i, tree in all_trees:
        count += 1
        announced = max((iteration for at, iteration in said if at <= i), default=None)
        try:
            check(program, tree, root, place, announced, i == len(operations))
        except programs.Violation as violation:
            wrong += 1
            print('%s, %d of %d operations: %s' % (program.name, i, len(operations), violation), flush=True)
            if options.keep: shutil.copytree(place + '/lost', '%s/%s.%d' % (options.keep, program.name, wrong))
    print('%s: %d operations, %d states of the disk' % (program.name, len(operations), count), flush=True)
    return count, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cortado', type=os.path.abspath)
    parser.add_argument('library', type=os.path.abspath)
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--sample', type=int, default=25, help='states of the disk for each program without --all')
    parser.add_argument('--random', type=int, default=200)
    parser.add_argument('--programs', nargs='+', default=['training', 'resume', 'conversion'])
    parser.add_argument('--keep', default='', help='a folder for disks on which something was wrong')
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    shim.LIBRARY = options.library
    counts, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as place:
        for kind in programs.ALL:
            if kind.name not in options.programs: continue
            inner = '%s/%s.place' % (place, kind.name)
            os.mkdir(inner)
            counts.append(lose(kind(options.cortado, '%s/%s' % (place, kind.name)), inner, options))
    wrong = sum(n for _, n in counts)
    print('power loss: %d programs, %d states of the disk: %d unrecoverable (%d s, seed %d)' %
          (len(counts), sum(n for n, _ in counts), wrong, time.monotonic() - begin, options.seed))
    return 1 if wrong else 0


if __name__ == '__main__': sys.exit(main())
