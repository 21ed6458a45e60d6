#!/usr/bin/python3
"""Writes docs/c-api.md from bindings/c/include/cortado.h, and docs/python-api.md from the sources of the module.

    api_pages.py            writes the pages
    api_pages.py --check    fails if a page differs
"""
import ast
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER, BINDINGS = ROOT / 'bindings/c/include/cortado.h', ROOT / 'bindings/python'
CLASSES = ['predictor.cc', 'net.cc', 'solver.cc', 'dataset.cc']  # in the order of the page
C_OPENING = '''# C API

All of `cortado.h`, from the comments of the header. [The library](library.md) shows how to build with it.
The C++ interface (`cortado/predictor.h`, `cortado/solver.h`) wraps these functions and throws `cortado::Error`.
'''
PYTHON_OPENING = '''# Python API

The module `cortado`, from its docstrings. [Python](python.md) has examples, and describes the module `caffe`.
'''


# ---- C

def comment_text(comment):
    """The words of a /* comment */, by paragraphs."""
    lines = [re.sub(r'^\s*\* ?', '', line) for line in comment[2:-2].strip().split('\n')]
    return '\n\n'.join(' '.join(part.split()) for part in re.split(r'\n\s*\n', '\n'.join(lines)))


def c_blocks():
    """(kind, text) of the header: `section`, `comment` and `code`, in order."""
    text = HEADER.read_text(encoding='utf-8')
    text = re.sub(r'#(?:ifdef __cplusplus|if defined\(__GNUC__\)).*?#endif\n', '', text, flags=re.S)
    text = re.sub(r'#ifndef CORTADO_H\n#define CORTADO_H\n|#include [^\n]*\n|\n#endif\s*$', '\n', text)
    token = re.compile(r'(?P<comment>/\*.*?\*/)(?P<alone>\n\n)?|(?P<code>(?:typedef (?:struct|enum) \w+ \{.*?\} \w+;|'
                       r'#define .*?[^\\]\n|[A-Za-z][^;]*;))', re.S)
    for found in token.finditer(text):
        if found['comment']:
            yield 'section' if found['alone'] else 'comment', comment_text(found['comment'])
        else:
            yield 'code', re.sub(r'\bCORTADO_API ', '', found['code'].strip())


def c_page():
    """Declarations without a comment of their own share a block of code with the one before."""
    lines, code, comment = [C_OPENING], [], ''

    def flush():
        nonlocal comment
        if code:
            lines.extend(['```c', *code, '```', ''])
            if comment:
                lines.extend([comment, ''])
        code.clear()
        comment = ''
    for kind, text in c_blocks():
        if kind == 'code':
            code.append(reindented(text))
            continue
        flush()
        heading = re.match(r'(Predictors|Trainings): (\w)(.*)', text, re.S)
        if kind == 'section' and heading:
            lines += ['## ' + heading[1], '', heading[2].upper() + heading[3], '']
        elif not text.startswith('Cortado from C'):
            comment = text
        else:
            lines += [text.split('\n\n', 1)[1], '', '## General', '']
    flush()
    return '\n'.join(lines).rstrip('\n') + '\n'


def reindented(code):
    """A declaration wrapped with an indent of four spaces, not to the place of the bracket."""
    if '(' not in code.split('\n')[0] or code.startswith('#'):
        return code
    whole = re.sub(r'(?<!,) ', '\xa0', ' '.join(code.split()))  # breaks after commas only
    return textwrap.fill(whole, 100, subsequent_indent='    ').replace('\xa0', ' ')


# ---- Python

def closing(text, start):
    """Where the bracket at `start` closes; strings are skipped."""
    depth, i = 0, start
    while i < len(text):
        if text[i] == '"':
            i = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, i).end() - 1
        elif text[i] in '([{':
            depth += 1
        elif text[i] in ')]}':
            depth -= 1
            if depth == 0:
                return i
        i += 1
    sys.exit('api_pages: a bracket does not close')


def arguments_of(text):
    """The arguments of a call, split at its commas."""
    parts, i, begin = [], 0, 0
    while i < len(text):
        if text[i] in '([{"':
            i = closing(text, i) if text[i] != '"' else re.compile(r'"(?:[^"\\]|\\.)*"').match(text, i).end() - 1
        elif text[i] == ',':
            parts.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return parts + [text[begin:].strip()]


def joined(literal):
    """A C++ string literal of one or several parts; None for anything else."""
    if not re.fullmatch(r'(?:"(?:[^"\\]|\\.)*"\s*)+', literal):
        return None
    return ''.join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', literal))


def value_of(default):
    """A C++ default as Python shows it."""
    known = {'py::none()': 'None', 'true': 'True', 'false': 'False', 'std::vector<std::string>()': '[]'}
    shown = known.get(default, default)
    return repr(joined(shown)) if joined(shown) is not None else shown


def signature_of(arguments):
    """(the Python argument list, the docstring) of what follows the function in a .def()."""
    shown, help_text = [], ''
    for argument in arguments:
        named = re.fullmatch(r'"(\w+)"_a(?: = (.*))?', argument, re.S)
        if named:
            shown.append(named[1] + ('=' + value_of(named[2]) if named[2] else ''))
        elif argument == 'py::kw_only()':
            shown.append('*')
        elif joined(argument) is not None:
            help_text = joined(argument)
    return ', '.join(shown), help_text


def definitions(text):
    """(kind, name, arguments, help) of every class, method, property and function of a binding's source."""
    for found in re.finditer(r'py::class_<[^;(]*>\(|\bClass\(|\.def_property_readonly\(|\.def\(', text):
        start = found.end() - 1
        parts = arguments_of(text[start + 1:closing(text, start)])
        if 'class_' in found[0] or 'Class' in found[0]:
            yield 'class', joined(parts[1]), '', joined(parts[2])
        elif 'py::init' in parts[0]:
            yield 'init', '', *signature_of(parts[1:])
        else:
            shown, help_text = signature_of(parts[2:])
            shown = {'&predict': '**arrays', '&reshape': '**shapes'}.get(parts[1], shown)  # py::kwargs
            is_module = text[:start].endswith('module.def')
            kind = 'function' if is_module else 'property' if 'property' in found[0] else 'method'
            yield kind, joined(parts[0]), shown, help_text


def python_functions():
    """(name, arguments, docstring) of the functions that the module takes from program.py."""
    for node in ast.parse((BINDINGS / 'cortado/program.py').read_text(encoding='utf-8')).body:
        if isinstance(node, ast.FunctionDef) and node.name in ('check', 'summary'):
            yield node.name, ast.unparse(node.args), ast.get_docstring(node)


def paragraph(text):
    return ' '.join(text.split())


def python_page():
    module = ast.get_docstring(ast.parse((BINDINGS / 'cortado/__init__.py').read_text(encoding='utf-8')))
    example = module.split('\n\n')
    lines = [PYTHON_OPENING]
    code = [part for part in example if part.startswith('    ')]
    lines += ['```python', textwrap.dedent('\n\n'.join(code)), '```']
    lines += ['', paragraph(example[-1]), '']
    functions = []
    for file in CLASSES + ['functions.cc']:
        name = ''
        for kind, own, shown, help_text in definitions((BINDINGS / file).read_text(encoding='utf-8')):
            if not help_text and not own.startswith('__'):
                sys.exit('api_pages: %s has no docstring in bindings/python/%s' % (own or name, file))
            if kind == 'function':
                functions.append((own, shown, help_text))
            elif kind == 'class':
                name = own
                lines += [*([''] if lines[-1] else []), '## ' + name, '', help_text, '']
            elif kind == 'init':
                lines += ['```python', 'cortado.%s(%s)' % (name, shown), '```', '', help_text, '',
                          '| member | meaning |', '|---|---|']
            elif own == '__getitem__':
                lines += ['| `[%s]` | %s |' % (shown, help_text)]
            elif own == '__len__':
                lines += ['| `len()` | %s |' % help_text]
            elif not own.startswith('__'):
                if lines[-1] == '':  # a class that users do not construct
                    lines += ['| member | meaning |', '|---|---|']
                call = own if kind == 'property' else '%s(%s)' % (own, shown)
                lines += ['| `%s` | %s |' % (call, help_text.replace('|', '\\|'))]
        lines += [''] if lines[-1] else []
    error = re.search(r'"cortado.Error",\s*("[^"]*")',
                      (BINDINGS / 'errors.cc').read_text(encoding='utf-8'))
    lines += ['## Error', '', joined(error[1]) + ' The numbers are in [exit codes](exit-codes.md).', '',
              '## Functions', '', '| function | meaning |', '|---|---|']
    for name, shown, help_text in sorted([*functions, *python_functions()]):
        lines.append('| `%s(%s)` | %s |' % (name, shown, paragraph(help_text)))
    return '\n'.join(lines) + '\n'


def main():
    stale = []
    for page, text in (('c-api.md', c_page()), ('python-api.md', python_page())):
        path = ROOT / 'docs' / page
        if '--check' not in sys.argv:
            path.write_text(text, encoding='utf-8')
        elif not path.exists() or path.read_text(encoding='utf-8') != text:
            stale.append('docs/' + page)
    sys.exit(' and '.join(stale) + ' out of date: run scripts/dev/api_pages.py' if stale else 0)


if __name__ == '__main__':
    main()
