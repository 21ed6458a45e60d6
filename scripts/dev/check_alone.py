#!/usr/bin/python3
"""Parses source files one by one, as the preset `dev` compiles them, in build-dev/. Exits 1 if one has an error: other
builds join sources, which hides an #include that is missing.

    check_alone.py                 all files: half an hour on two cores
    check_alone.py --slice=2/8     every eighth file, from the second on
    check_alone.py --changed       those that changed in the last forty commits
    check_alone.py --minutes=3     those, then others from a place that moves with every commit, for so long
    check_alone.py data/image      these files, or those in these folders
"""
import argparse, json, pathlib, subprocess, sys, time

import compile_commands

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / 'build-dev'


def configure():
    compile_commands.configure('dev', BUILD)
    # Ninja would first build what the targets of these headers link.
    listed = subprocess.run(['ninja', '-t', 'compdb', 'CUSTOM_COMMAND'], cwd=BUILD, capture_output=True, text=True,
                            check=True)
    for entry in json.loads(listed.stdout):
        if '.pb.' in entry['output']: subprocess.run(entry['command'], shell=True, cwd=BUILD, check=True)
    subprocess.run(['ninja', '--quiet', 'cortado_precompiled_headers'], cwd=BUILD, check=True)


def git(*words): return subprocess.run(['git', *words], cwd=ROOT, capture_output=True, text=True).stdout.split('\n')


def changed_last():
    """The files of the last commits, newest first; of a clone with one commit, none."""
    if git('rev-list', '--count', 'HEAD')[0] in ('', '1'): return []
    return list(dict.fromkeys(git('diff', '--name-only', 'HEAD') + git('log', '--name-only', '--format=', '-40')))


def by_change(files, only):
    """Those that changed last, then all from a place that moves with every commit, or without these if `only`."""
    known = set(files)
    changed = [ROOT / name for name in changed_last() if ROOT / name in known]
    if only: return changed
    place = int(git('rev-parse', 'HEAD')[0] or '0', 16) % len(files)
    return list(dict.fromkeys(changed + files[place:] + files[:place]))


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument('paths', nargs='*')
    args.add_argument('--slice', default='1/1')
    args.add_argument('--changed', action='store_true')
    args.add_argument('--minutes', type=float)
    args = args.parse_args()
    configure()
    commands = {pathlib.Path(entry['file']): compile_commands.parsing(entry['command'])
                for entry in compile_commands.of(BUILD)}
    files = sorted(each for each in commands if BUILD not in each.parents and each.suffix in ('.cc', '.cu'))
    if args.paths: files = [each for each in files if any(ROOT / path in (each, *each.parents) for path in args.paths)]
    if args.minutes or args.changed: files = by_change(files, args.changed)
    part, parts = map(int, args.slice.split('/'))
    files = files[part - 1::parts]
    end = time.time() + 60 * (args.minutes or 1e4)
    failed, done = 0, 0
    while done < len(files) and time.time() < end:
        some = files[done:done + 16]
        failed += compile_commands.run_all([commands[each] for each in some], BUILD)
        done += len(some)
    print('%d of %d files parsed alone, %d with errors' % (done, len(files), failed))
    sys.exit(bool(failed))


main()
