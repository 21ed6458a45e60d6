#!/usr/bin/python3
"""Checks that the CPU kernels compile for every x86-64 level. A build compiles them for one level only.

    check_cpu_levels.py BUILD [LEVEL...]     levels: x86-64-v2, x86-64-v3, x86-64-v4 (default: the first two)

Runs the compile commands of a Ninja build with -fsyntax-only, for each level in place of the build's own. Prints the
errors, and exits 1 if there are any.
"""
import collections
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

FOLDERS = '/engine/kernels/cpu/', '/engine/core/loops/'
LEVELS = ['x86-64-v2', 'x86-64-v3']
WITH_ARGUMENT = '-o', '-MT', '-MF'
DROPPED = '-c', '-MD'


def commands(build):
    """{file: (working folder, command line)} of the C++ files in FOLDERS."""
    database = json.loads(subprocess.run(['ninja', '-C', build, '-t', 'compdb'], check=True, stdout=subprocess.PIPE,
                                         universal_newlines=True).stdout)
    return {entry['file']: (entry['directory'], shlex.split(entry['command'])) for entry in database
            if entry['file'].endswith('.cc') and any(folder in entry['file'] for folder in FOLDERS)}


def for_level(words, level):
    """The command for `level`, which checks without generating code."""
    compiler = next(i for i, word in enumerate(words) if os.path.basename(word).startswith(('c++', 'g++', 'clang++')))
    kept, previous = [], ''
    for word in words[compiler:]:
        if word not in WITH_ARGUMENT + DROPPED and previous not in WITH_ARGUMENT:
            kept.append('-march=' + level if word.startswith('-march=') else word)
        previous = word
    return kept + ['-O0', '-U_FORTIFY_SOURCE', '-fsyntax-only']


def compile_headers(found, level, place):
    """Compiles what many of the files include, once for the level. Returns the header to include first."""
    lines = collections.Counter(line for file in found
                                for line in re.findall(r'(?m)^#include .*', pathlib.Path(file).read_text()))
    header = pathlib.Path(place, level + '.h')
    header.write_text(''.join(line + '\n' for line, count in lines.items() if count > len(found) / 8))
    file, (folder, words) = next(iter(found.items()))
    command = [word for word in for_level(words, level) if word not in (file, '-fsyntax-only')]
    subprocess.run([*command, '-x', 'c++-header', header, '-o', '%s.gch' % header], cwd=folder)
    return header


def errors(task):
    folder, words, level, header = task
    done = subprocess.run(for_level(words, level) + ['-include', header], cwd=folder, stderr=subprocess.PIPE,
                          universal_newlines=True)
    return '%s:\n%s' % (level, done.stderr) if done.returncode else ''


def main():
    if platform.machine() != 'x86_64':
        return 0
    found = commands(sys.argv[1])
    if not found:
        sys.exit('check_cpu_levels: no compile commands of %s in %s' % (' or '.join(FOLDERS), sys.argv[1]))
    levels = sys.argv[2:] or LEVELS
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads, tempfile.TemporaryDirectory() as place:
        headers = threads.map(lambda level: compile_headers(found, level, place), levels)
        tasks = [(*command, level, header) for level, header in zip(levels, headers) for command in found.values()]
        faults = [text for text in threads.map(errors, tasks) if text]
    print('\n'.join(faults))
    print('%d files, %d faults' % (len(found), len(faults)))
    return bool(faults)


sys.exit(main())
