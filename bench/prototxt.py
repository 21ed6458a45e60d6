"""A small prototxt reader and writer, independent of the program. A message is {field: [values]}."""
import re

TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|[{}:]|[^\s{}:"#]+)')


class Quoted(str):
    """A quoted string; unquoted words are enum names."""


def parse(text):
    tokens = TOKEN.findall(text + '\n')
    position = 0

    def message():
        nonlocal position
        fields = {}
        while position < len(tokens) and tokens[position] != '}':
            name = tokens[position]
            position += 1
            if tokens[position] == ':':
                position += 1
            if tokens[position] == '{':
                position += 1
                value = message()
                position += 1
            else:
                value = scalar(tokens[position])
                position += 1
            fields.setdefault(name, []).append(value)
        return fields

    return message()


def scalar(token):
    if token.startswith('"'):
        return Quoted(token[1:-1])
    try:
        return float(token)
    except ValueError:
        return {'true': True, 'false': False}.get(token, token)


def dump(message, indent=''):
    lines = []
    for name, values in message.items():
        for value in values:
            if isinstance(value, dict):
                lines.append('%s%s {\n%s%s}\n' % (indent, name, dump(value, indent + '  '), indent))
            else:
                lines.append('%s%s: %s\n' % (indent, name, word(value)))
    return ''.join(lines)


def word(value):
    if isinstance(value, Quoted):
        return '"%s"' % value
    if isinstance(value, bool):
        return str(value).lower()
    return '%.9g' % value if isinstance(value, (int, float)) else value


def one(message, field, default=None):
    return message.get(field, [default])[0]
