#!/usr/bin/python3
"""Checks that no prototxt of the tree is a published one: all are our own.

    check_nets.py                  prints each file of the tree whose net or solver is in tests/scripts/public_nets.txt
    check_nets.py --hash FILE...   prints the hashes of these files, for that list

A file is parsed and printed in one form before it is hashed, so names, paths, comments, blanks and the order of fields
do not matter. The list holds hashes alone. Exit code 1 where a file is found.
"""
import hashlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / 'tests/scripts/public_nets.txt'
TOKEN = re.compile(r'''\s+|\#[^\n]*|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<word>[\w.+-]+)'''
                   r'''|(?P<sign>[{}<>\[\]:,;])''')
KINDS = {'type', 'lr_policy', 'regularization_type', 'crop_mode'}  # strings that are not names or paths


def tokens(text):
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match: raise ValueError('at byte %d' % at)
        at = match.end()
        if match.lastgroup: yield match.lastgroup, match.group(match.lastgroup)
    yield 'end', ''


class Parser:
    """Text format: {field: [values]}, where a value is a message, ('text', string) or a word."""

    def __init__(self, text):
        self.rest = tokens(text)
        self.next()

    def next(self):
        self.kind, self.token = next(self.rest)

    def take(self, *signs):
        if self.kind != 'sign' or self.token not in signs: return False
        self.next()
        return True

    def message(self, *ends):
        fields = {}
        while not (self.kind == 'end' or self.token in ends and self.kind == 'sign'):
            if self.kind != 'word': raise ValueError('a field is missing')
            name = self.token
            self.next()
            self.take(':')
            if self.take('['):
                while not self.take(']'):
                    fields.setdefault(name, []).append(self.value())
                    self.take(',')
            else:
                fields.setdefault(name, []).append(self.value())
            self.take(',', ';')
        return fields

    def value(self):
        for begin, end in ('{', '}'), ('<', '>'):
            if self.take(begin):
                fields = self.message(end)
                if not self.take(end): raise ValueError('a brace is missing')
                return fields
        kind, value = self.kind, self.token
        if kind not in ('text', 'word'): raise ValueError('a value is missing')
        self.next()
        while kind == 'text' and self.kind == 'text': value, _ = value[:-1] + self.token[1:], self.next()
        return ('text', value[1:-1]) if kind == 'text' else value


def number_or_word(word):
    try: return repr(float(word))
    except ValueError: return word


def printed(fields, names):
    """The message in one form: fields by name, names and paths as the number of their first appearance."""
    parts = []
    for field in sorted(fields):
        for value in fields[field]:
            if isinstance(value, dict): text = '{%s}' % printed(value, names)
            elif isinstance(value, str): text = number_or_word(value)
            elif field in KINDS: text = value[1]
            else: text = '#%d' % names.setdefault(value[1], len(names))
            parts.append('%s:%s' % (field, text))
    return ' '.join(parts)


def hash_of(text):
    """Of a prototxt; of none that is empty or no text format."""
    try: fields = Parser(text).message()
    except ValueError: return None
    fields.pop('name', None)
    return hashlib.sha256(printed(fields, {}).encode()).hexdigest()[:16] if fields else None


def files_of_tree():
    listed = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.prototxt',
                             '*.pt'], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    return [path for path in (ROOT / name for name in listed.split('\0') if name) if path.exists()]  # not deleted


def published(files, known):
    return [path for path in files if hash_of(path.read_text(errors='replace')) in known]


def main():
    if sys.argv[1:2] == ['--hash']:
        hashes = {hash_of(pathlib.Path(name).read_text(errors='replace')) for name in sys.argv[2:]} - {None}
        print('\n'.join(sorted(hashes)))
        return
    found = published(files_of_tree(), set(LIST.read_text().split()))
    for path in found: print('%s: is a published net or solver; write an own one' % path.relative_to(ROOT))
    sys.exit(bool(found))


if __name__ == '__main__': main()
