#!/usr/bin/python3
"""Prints names in anonymous namespaces that two files of a folder share, and exits 1.

The files of a folder are compiled as one unit (CORTADO_UNITY, docs/building.md), so that their anonymous namespaces are
one. If two functions have one name, overload resolution may silently choose the other file's.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALONE = re.compile(r'/(cuda|cpu|mpi|gloo|nccl|opencv)/|^(bench|cmake|examples|tests)/')
TYPE = re.compile(r'(?:struct|class|enum class|enum|union) (?:\[\[\w+\]\] |alignas\(\w+\) )?(\w+)')
FUNCTION = re.compile(r'(?!using|static_assert)[\w:\[].*?(?<![\w:])(\w+)\(')
VARIABLE = re.compile(r'(?:inline |static |constexpr |const |constinit )+.*?\b(\w+)(?:\[[^\]]*\])?(?: =|\{|;|\()')


def anonymous_names(text):
    """(namespace, name) of the declarations that begin a line within `namespace {`; not of class members."""
    inside, outer = False, ''
    for line in text.split('\n'):
        if line == 'namespace {': inside = True
        elif re.match(r'namespace [\w:]+ {', line): outer = line.split()[1]
        elif line.startswith('}  // namespace'): inside = False
        elif inside and re.match(r'[\w\[]', line):
            if re.match(r'template\b', line): continue  # the declaration follows on the next line
            if re.search(r'\w::~?\w+\(', line.split(' {')[0]) and not re.match(r'const', line): continue
            found = TYPE.match(line) or FUNCTION.match(line.split(' = ')[0]) or VARIABLE.match(line)
            if found: yield outer, found[1]


def target_of(file):
    """The folder whose files are compiled together with this file."""
    houses = ('engine', 'serving', 'formats', 'bindings')
    return file.parts[:2] if file.parts[0] in houses or file.parts[:2] == ('tools', 'runs') else file.parts[:1]


def main():
    owners = collections.defaultdict(set)
    folders = [path for path in sorted(ROOT.iterdir()) if path.is_dir() and not re.match(r'build|\.', path.name)]
    files = [path for folder in folders for path in sorted(folder.rglob('*'))
             if path.suffix in ('.cc', '.cu') and not ALONE.search(str(path.relative_to(ROOT)))]
    for path in files:
        file = path.relative_to(ROOT)
        for outer, name in anonymous_names(path.read_text()): owners[target_of(file), outer, name].add(str(file))
    shared = sorted((name, sorted(of)) for (_, _, name), of in owners.items() if len(of) > 1)
    for name, of in shared: print('%s: in %s' % (name, ', '.join(of)))
    print('%d files, %d names, %d shared' % (len(files), len(owners), len(shared)))
    sys.exit(bool(shared) or not owners)


if __name__ == '__main__':
    main()
