#!/usr/bin/python3
"""Writes docs/solver-fields.md and docs/net-fields.md from proto/cortado.proto and its comments.

    fields_page.py            writes the pages
    fields_page.py --check    fails if a page differs
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA, LAYERS = ROOT / 'proto/cortado.proto', ROOT / 'docs/layers.md'
MARK = re.compile(r'text only(?:, as all below)?(?:; )?')  # for readers of the schema alone
ORIGIN = re.compile(r'(NVIDIA|Intel|SSD|OpenCL Caffe|person search|deepdetect|volumes): ')
FIELD = re.compile(r'  (optional|repeated) (\S+) (\w+) = (\d+)(?: \[(.*?)\])?;(?:\s*// (.*))?$')

SOLVER = '''# Solver fields

All fields of a solver file, from `proto/cortado.proto`. [Solvers](solvers.md) explains them by topic; `cortado layers
SolverParameter` prints this list. `...` marks fields that may be given more than once. The origin is the program that
introduced a field.
'''
NET = '''# Net fields

All fields of a net file, from `proto/cortado.proto`, except the options of single layer types, which are in
[layers](layers.md). `...` marks fields that may be given more than once. The origin is the program that introduced a
field.
'''
PAGES = {  # page: (its beginning, its messages)
    'solver-fields.md': (SOLVER, ['SolverParameter', 'EarlyStopParameter']),
    'net-fields.md': (NET, ['NetParameter', 'NetState', 'LayerParameter', 'ParamSpec', 'NetStateRule',
                            'TransformationParameter'])}


def schema():
    """(messages: {name: (comment, fields)}, enums: {name: values}).

    A field is (label, type, name, number, options, help).
    """
    messages, enums = {}, {}
    message, enum, above = None, None, []
    for line in SCHEMA.read_text(encoding='utf-8').splitlines():
        comment = re.match(r'\s*// (.*)', line)
        if comment:
            above.append(comment[1])
            continue
        start, field = re.match(r'(\s*)(message|enum) (\w+) \{', line), FIELD.match(line)
        if start and start[2] == 'message' and not start[1]:
            message = start[3]
            messages[message] = (' '.join(above), [])
        elif start and start[2] == 'enum':
            enum = start[3] if not start[1] else message + '.' + start[3]
            enums[enum] = []
        elif field:
            messages[message][1].append((*field.groups()[:5], field[6] or ' '.join(above)))
        elif enum and '=' in line:
            enums[enum].append(line.split()[0])
        elif line.strip() == '}':
            enum = None
        above = []
    return messages, enums


def types_by_options():
    """{option field: layer types}, from docs/layers.md."""
    found = {}
    for section in LAYERS.read_text(encoding='utf-8').split('\n## ')[1:]:
        option = re.search(r', options in `(\w+)`', section)
        if option:
            found.setdefault(option[1], []).append(section.split('\n', 1)[0])
    return found


def link(name, page, messages):
    if name in PAGES[page][1]:
        return '[%s](#%s)' % (name, name.lower())
    if '\n## %s\n' % name in LAYERS.read_text(encoding='utf-8'):
        return '[%s](layers.md#%s)' % (name, name.lower())
    for other in PAGES:
        if name in PAGES[other][1]:
            return '[%s](%s#%s)' % (name, other, name.lower())
    return name if name in messages else ''


def escaped(text):
    return text.replace('|', '\\|').replace('<', '&lt;').replace('*', '\\*')


def row(owner, field, page, messages, enums):
    label, kind, name, number, options, text = field
    text = MARK.sub('', text, 1) if text.startswith('text only') else text
    origin = ORIGIN.match(text)
    text = text[origin.end():] if origin else text
    where = origin[1] if origin else 'Cortado' if int(number) >= 10000 else 'Caffe'
    values = enums.get(owner + '.' + kind) or enums.get(kind)
    default = re.search(r'default = ("(?:[^"]*)"|[^\s,\]]+)', options or '')
    if values and not all(value in text for value in values):
        text += ' (%s)' % ', '.join(values)
    shown = 'enum' if values else link(kind, page, messages) or kind
    return '| `%s` | %s%s | %s | %s | %s |' % (name, shown, '...' if label == 'repeated' else '',
                                               '`%s`' % default[1] if default else '', where, escaped(text.strip()))


def table(owner, fields, page, messages, enums):
    missing = [field[2] for field in fields if not field[5]]
    if missing:
        sys.exit('fields_page: proto/cortado.proto has no comment on %s: %s' % (owner, ', '.join(missing)))
    return ['| field | type | default | origin | meaning |', '|---|---|---|---|---|'] + [
        row(owner, field, page, messages, enums) for field in fields]


def options_table(fields, messages):
    """The fields of LayerParameter with options of single types."""
    types = types_by_options()
    rows = ['| field | layer types |', '|---|---|']
    for _, kind, name, _, _, _ in fields:
        links = ', '.join('[%s](layers.md#%s)' % (known, known.lower()) for known in types.get(name, []))
        rows.append('| `%s` | %s |' % (name, links or escaped(messages[kind][0])))
    return rows


def page_of(page, messages, enums):
    opening, chosen = PAGES[page]
    lines = [opening]
    for name in chosen:
        help_text, fields = messages[name]
        lines += ['## ' + name, '', escaped(help_text), '']
        single = [field for field in fields if name == 'LayerParameter' and field[2].endswith('_param')
                  and field[2] not in ('transform_param', 'loss_param')]
        common = [field if field[5] else (*field[:5], escaped(messages[field[1]][0])) for field in fields
                  if field not in single]
        lines += table(name, common, page, messages, enums) + ['']
        if single:
            lines += ['Options of single layer types:', ''] + options_table(single, messages) + ['']
    return '\n'.join(lines).rstrip('\n') + '\n'


def main():
    messages, enums = schema()
    stale = []
    for page in PAGES:
        text, path = page_of(page, messages, enums), ROOT / 'docs' / page
        if '--check' not in sys.argv:
            path.write_text(text, encoding='utf-8')
        elif not path.exists() or path.read_text(encoding='utf-8') != text:
            stale.append('docs/' + page)
    sys.exit(' and '.join(stale) + ' out of date: run scripts/dev/fields_page.py' if stale else 0)


if __name__ == '__main__':
    main()
