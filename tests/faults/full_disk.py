#!/usr/bin/python3
"""Disks that are full. First a budget of bytes, after which writes are short and then fail, byte by byte over the end
of a snapshot and of a conversion; then, where it may be mounted, a real file system in memory, page by page.

    full_disk.py CORTADO FAULT_CALLS.so [--all] [--step 1] [--bytes 16384] [--programs resume conversion] [--jobs 2]
"""
import argparse, concurrent.futures, os, shutil, subprocess, sys, tempfile, time
import disk, programs, shim

STATE = {}


def bytes_written(program, place):
    """By a run on a disk with room."""
    folder = place + '/count'
    shutil.copytree(program.begin, folder)
    done = shim.run(program.command(), folder, under=folder, record=place + '/record')
    assert done and done.returncode == 0, programs.tail(done)
    shutil.rmtree(folder)
    return sum(len(op['data']) for op in disk.read_record(place + '/record') if op['op'] == 'write')


def judge(program, folder, done):
    """A program without room either says so or did not need it, and nothing is lost."""
    programs.must(done is not None, 'it does not end')
    programs.must(done.returncode in (0, 5), 'it ended otherwise', done)
    told = 'No space left on device' in done.stderr or 'is the disk full?' in done.stderr
    programs.must(done.returncode == 0 or told, 'the reason is not told', done)
    if program.name == 'resume' and done.returncode == 5 and 'Iteration 8' not in done.stderr:
        programs.must('Optimization' not in done.stderr, 'it neither trained nor said why', done)
    if program.name == 'resume' and done.returncode == 0 and 'WAS NOT WRITTEN' in done.stderr:
        programs.must('training continues' in done.stderr, 'nothing says that it goes on', done)
    program.check(folder, done, 'fail')


def with_budget(name, budget):
    """What was violated, or ''."""
    program, place = STATE[name], tempfile.mkdtemp(dir=STATE['place'])
    folder = place + '/work'
    try:
        shutil.copytree(program.begin, folder)
        done = shim.run(program.command(), folder, under=folder, budget=budget, reserve='no')
        judge(program, folder, done)
        return ''
    except programs.Violation as violation:
        return '%s, %d bytes: %s' % (name, budget, violation)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def mounts():
    """Whether a file system may be mounted here, in a namespace of its own."""
    tried = subprocess.run(['unshare', '-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], capture_output=True)
    return tried.returncode == 0


def on_small_disk(program, place, kibibytes):
    """The program on a file system of that size, whose content is copied out before it goes."""
    folder, log = place + '/work', place + '/log'
    shutil.rmtree(folder, ignore_errors=True)
    script = ('mkdir -p "$1.disk" && mount -t tmpfs -o size=%dk none "$1.disk" && cp -r "$2/." "$1.disk" || exit 77\n'
              'cd "$1.disk"; shift 2; "$@" > "$OLDPWD/out" 2> "$OLDPWD/err"; code=$?\n'
              'cp -r . "$OLDPWD/work"; exit $code' % kibibytes)
    done = subprocess.run(['unshare', '-m', 'bash', '-c', script, '_', folder, program.begin, *program.command()],
                          cwd=place, capture_output=True, text=True, timeout=120)
    if done.returncode == 77: return None
    text = [programs.read(place + '/' + name).decode(errors='replace') for name in ('out', 'err')]
    return subprocess.CompletedProcess(program.words, done.returncode, *text)


def small_disks(program, place):
    """(disks tried, violations): from one that barely takes what is there to one that takes all."""
    tried, wrong = 0, []
    least = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(program.begin) for n in names) // 1024
    for size in range(least, least + 2000, 4):
        done = on_small_disk(program, place, size)
        if done is None: continue
        tried += 1
        try:
            judge(program, place + '/work', done)
        except programs.Violation as violation:
            wrong.append('%s, %d KiB: %s' % (program.name, size, violation))
            print(wrong[-1], flush=True)
        if done.returncode == 0 and 'WAS NOT WRITTEN' not in done.stderr: break
    return tried, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cortado', type=os.path.abspath)
    parser.add_argument('library', type=os.path.abspath)
    parser.add_argument('--all', action='store_true', help='every byte, unless --step says otherwise')
    parser.add_argument('--step', type=int, default=0)
    parser.add_argument('--bytes', type=int, default=16384, help='before the end of what is written')
    parser.add_argument('--programs', nargs='+', default=['resume', 'conversion'])
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    shim.LIBRARY = options.library
    step = options.step or (1 if options.all else 997)
    begin, budgets, disks, violations = time.monotonic(), [], 0, []
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as place:
        STATE['place'] = place
        for kind in programs.ALL:
            if kind.name not in options.programs: continue
            program = STATE[kind.name] = kind(options.cortado, '%s/%s' % (place, kind.name))
            total = bytes_written(program, place)
            os.remove(place + '/record')
            print('%s: %d bytes are written' % (kind.name, total), flush=True)
            budgets += [(kind.name, n) for n in range(max(0, total - options.bytes), total + 1, step)]
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            for i, violation in enumerate(pool.map(with_budget, *zip(*budgets), chunksize=4)):
                if violation: print(violation, flush=True)
                violations += [violation] if violation else []
                if (i + 1) % 1000 == 0: print('%d of %d' % (i + 1, len(budgets)), flush=True)
        for name in options.programs if mounts() else ():
            os.mkdir(place + '/small.' + name)
            tried, wrong = small_disks(STATE[name], place + '/small.' + name)
            disks, violations = disks + tried, violations + wrong
    print('full disk: %d programs, %d budgets of bytes, %d small disks%s: %d violations (%d s)' %
          (len(options.programs), len(budgets), disks, '' if disks else ' (mounting is not allowed)', len(violations),
           time.monotonic() - begin))
    return 1 if violations else 0


if __name__ == '__main__': sys.exit(main())
