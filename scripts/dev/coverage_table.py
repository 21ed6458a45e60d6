#!/usr/bin/python3
"""Prints the table of scripts/coverage.sh: coverage_table.py COUNTS FOLDER..., from gcovr's JSON."""
import json, sys


def main(path, *folders):
    files = json.load(open(path))['files']
    print('| folder | lines | covered | branches | covered |')
    print('|---|---:|---:|---:|---:|')
    whole = [0] * 4
    for folder in folders + ('all',):
        counts = [0] * 4
        for file in files:
            if not file['file'].startswith(folder + '/'): continue
            lines = [line for line in file['lines'] if not line.get('gcovr/noncode')]
            branches = [branch for line in lines for branch in line['branches']]
            for i, list_ in ((0, lines), (2, branches)):
                counts[i] += len(list_)
                counts[i + 1] += sum(each['count'] > 0 for each in list_)
        if folder == 'all': counts = whole
        else: whole = [a + b for a, b in zip(whole, counts)]
        shares = [100 * counts[i + 1] / max(1, counts[i]) for i in (0, 2)]
        print('| %s | %d | %.1f %% | %d | %.1f %% |' % (folder, counts[0], shares[0], counts[2], shares[1]))


main(*sys.argv[1:])
