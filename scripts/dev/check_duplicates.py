#!/usr/bin/python3
"""Prints pairs of places in the sources that share six lines or more. Exits 1 if there are more than MOST_PAIRS.

Lines are compared without their white space. Empty lines and lines with only an #include, a namespace or braces are
ignored. tests/ is skipped: a test may repeat code, so that it can be read alone.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = re.compile(r'build|\.|tests$')
IGNORED = re.compile(r'(#include|#pragma once|namespace |}  // namespace)|[\s{}]*$')
LEAST_LINES = 6
MOST_PAIRS = 5


def counted_lines(path):
    """(number, text without spaces) of the lines that count."""
    for number, line in enumerate(path.read_text().split('\n'), 1):
        line = line.strip()
        if not IGNORED.match(line): yield number, re.sub(r'\s+', '', line)


def longest_runs(files):
    """(lines, file, first, other file, other first) of runs that no longer run contains; `first` counts from 0."""
    places = collections.defaultdict(list)
    for file, lines in files.items():
        for i in range(len(lines) - LEAST_LINES + 1):
            places[tuple(text for _, text in lines[i:i + LEAST_LINES])].append((file, i))
    starts = {(a, b) for found in places.values() for n, a in enumerate(found) for b in found[n + 1:]}
    for (file, i), (other, k) in sorted(starts):
        if ((file, i - 1), (other, k - 1)) in starts: continue
        length = LEAST_LINES
        while ((file, i + length - LEAST_LINES + 1), (other, k + length - LEAST_LINES + 1)) in starts: length += 1
        if file != other or i + length <= k: yield length, file, i, other, k


def main():
    paths = [path for folder in sorted(ROOT.iterdir()) if folder.is_dir() and not SKIPPED.match(folder.name)
             for path in sorted(folder.rglob('*')) if path.suffix in ('.cc', '.h', '.cu')]
    files = {str(path.relative_to(ROOT)): list(counted_lines(path)) for path in paths}
    pairs = sorted(longest_runs(files), reverse=True)
    for length, file, i, other, k in pairs:
        print('%s:%d and %s:%d share %d lines' % (file, files[file][i][0], other, files[other][k][0], length))
    print('%d files, %d pairs, at most %d' % (len(files), len(pairs), MOST_PAIRS))
    sys.exit(len(pairs) > MOST_PAIRS or not files)


if __name__ == '__main__':
    main()
