#!/usr/bin/python3
"""Finds sources that use a name of a header which they do not include, directly or not. Prints them and exits 1.

Unity builds hide this: another file of the same unit includes the header. Only a compiler that sees the file alone
(scripts/dev/check_alone.py) is exact, but it takes half an hour for all files; this takes seconds. A name counts if
headers of the project declare it in a namespace, and no header that the file reaches has the word.
"""
import functools, pathlib, re, sys

import check_includes
from faults_in_text import without_comments

ROOT = check_includes.ROOT
TYPE = re.compile(r'^\s*(?:class|struct|union|enum(?: class)?) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: *:[^:;{]*)? *\{|'
                  r'^\s*using (\w+) =|^ *concept (\w+) =')
FUNCTION = re.compile(r'^(?!return |using |#|throw |else )[\w:<>,&* \[\]]*[\w>&*\]] [&*]?(\w+)\(')
VALUE = re.compile(r'^(?:inline |extern |constexpr |static |const )+[\w:<>,&* ]+ [&*]?(k[A-Z]\w+)(?:\[\w*\])? *'
                   r'(?:=|;|\{)')
WORD = re.compile(r'\b[A-Za-z_]\w*')
USE = re.compile(r'(?<![\w.>:])((?:\w+::)*)([A-Za-z_]\w*)\b(?!\s*(?:=[^=]|:[^:]))')


@functools.cache
def text_of(path): return without_comments(path.read_text())


@functools.cache
def words_of(path): return frozenset(WORD.findall(text_of(path)))


@functools.cache
def included_by(path):
    """The project's files that it includes; generated ones are left out."""
    names = re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.M)
    homes = (path.parent, ROOT / 'bindings/c/include')
    found = [check_includes.file_of(name) or next((home / name for home in homes if (home / name).is_file()), None)
             for name in names]
    return frozenset(each for each in found if each)


def reached(path):
    """All files that it includes, directly or not."""
    found, left = set(), [path]
    while left:
        for other in included_by(left.pop()):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def declared_in(path):
    """The names that a header declares in a namespace: a type, a constant, or a function with an underscore."""
    names, depth = set(), 0
    for line in text_of(path).splitlines():
        if depth == 0:
            for pattern in (TYPE, FUNCTION, VALUE):
                found = pattern.match(line)
                name = found and next(each for each in found.groups() if each)
                if name and (pattern is not FUNCTION or '_' in name): names.add(name)
        if re.match(r'\s*(inline )?namespace\b[^;]*\{|\s*extern "C" *\{', line): continue
        depth += line.count('{') - line.count('}')
        depth = max(depth, 0)
    return names


def may_include(path, other, arrows):
    """Whether docs/architecture.md lets the file include the other. Tests may include all but other folders' tests."""
    here, there = (check_includes.folder_of(check_includes.as_included(each)) for each in (path, other))
    if there in ('tests', 'bench'): return other.parent in (path.parent, ROOT / 'tests/harness')
    return here in ('tests', 'bench') or here == there or there in arrows.get(here, ())


def faults(path, index, namespaces, arrows):
    if re.search(r'using namespace (?!cortado)\w', text_of(path)): return  # its names are not known
    seen = set().union(*(words_of(other) for other in reached(path)))
    text = text_of(path)
    told = set()
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r'\s*#', line): continue
        for outer, name in USE.findall(re.sub(r'^TEST(_[FP])?\(\w+, *\w+', '', line)):
            if name not in index or name in seen or name in told or name in own_names(path): continue
            if not namespaces.issuperset(outer.split('::')): continue
            homes = [each for each in index[name] if may_include(path, each, arrows)]
            if path in index[name] or not homes: continue
            told.add(name)
            yield '%s:%d: %s is declared in %s, which is not included' % (
                path.relative_to(ROOT), number, name, ' or '.join(str(each.relative_to(ROOT)) for each in homes))


@functools.cache
def own_names(path):
    """Names that the file declares anywhere: types, variables, members, functions, parameters."""
    text = text_of(path)
    kinds = r'\b(?:class|struct|enum|union|using|namespace|typename|concept|define)(?:\.\.\.)?'
    return (set(re.findall(kinds + r'\s+(?:class |alignas\(\w+\) )?(\w+)', text)) |
            set(re.findall(r'(?:[\w>&*\]]|, ?) [&*]*(\w+)(?=\s*[\[({=;,)]|\s*:)', text)) |
            set(word for body in re.findall(r'\benum\b[^{;]*\{([^}]*)\}', text) for word in WORD.findall(body)) |
            set(re.findall(r'(?:\(\*|\.\.\. |\busing [\w:]+::)(\w+)(?= ?[);>,=])', text)))


def main():
    files = [path for path in sorted(ROOT.rglob('*')) if path.suffix in ('.h', '.cc', '.cu', '.cuh')
             and not re.match(r'build|\.|examples$|cmake$', path.relative_to(ROOT).parts[0])]
    index = {}
    for path in files:
        if path.suffix == '.h':
            for name in declared_in(path): index.setdefault(name, []).append(path)
    namespaces = {name for path in files for names in re.findall(r'(?m)^namespace ([\w:]+) \{', text_of(path))
                  for name in names.split('::')} - {'google', 'protobuf', 'std', 'testing'} | {''}
    arrows = check_includes.drawn_arrows()
    found = [fault for path in files for fault in faults(path, index, namespaces, arrows)]
    print('\n'.join(found + ['%d files, %d names, %d faults' % (len(files), len(index), len(found))]))
    sys.exit(bool(found) or not files)


if __name__ == '__main__': main()
