#!/usr/bin/python3
"""Checks the formatting of the sources. Prints the faults and exits 1; exits 77 if clang-format is not installed.

1. clang-format (.clang-format) would change no C++ or CUDA file.
2. No line of a source file has more than 120 characters.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_COLUMNS = 120
CXX = ('.h', '.cc', '.cu')
SOURCES = CXX + ('.py', '.sh', '.cmake', '.proto')
SKIPPED = 77
FILES_AT_ONCE = 100


def sources():
    top = [folder for folder in sorted(ROOT.iterdir()) if folder.is_dir() and not re.match(r'build|\.', folder.name)]
    files = [path for folder in top for path in sorted(folder.rglob('*')) if path.is_file()]
    return [path for path in files if path.suffix in SOURCES or path.name == 'CMakeLists.txt']


def long_lines(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if len(line) > MAX_COLUMNS:
            yield '%s:%d: %d columns' % (path.relative_to(ROOT), number, len(line))


def unformatted(paths, clang_format):
    """The first line of each file that clang-format would change."""
    places = {}
    for first in range(0, len(paths), FILES_AT_ONCE):
        command = [clang_format, '--style=file', '--dry-run', '--ferror-limit=0', *paths[first:first + FILES_AT_ONCE]]
        warnings = subprocess.run(command, capture_output=True, text=True).stderr
        for path, line in re.findall(r'^(\S+?):(\d+):\d+: (?:warning|error):', warnings, re.MULTILINE):
            places.setdefault(path, line)
    return ['%s:%s: clang-format would change it' % (pathlib.Path(path).relative_to(ROOT), line)
            for path, line in places.items()]


def main():
    clang_format = shutil.which('clang-format')
    files = sources()
    found = [fault for path in files for fault in long_lines(path)]
    if clang_format:
        found += unformatted([path for path in files if path.suffix in CXX], clang_format)
    print('\n'.join(found + ['%d files, %d faults%s' % (len(files), len(found),
                                                       '' if clang_format else '; clang-format is not installed')]))
    sys.exit(1 if found or not files else 0 if clang_format else SKIPPED)


if __name__ == '__main__':
    main()
