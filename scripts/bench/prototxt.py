"""A small reader of prototxt and .caffemodel files, independent of the program, for the benchmark's peers."""
import re
import struct
from array import array

TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|[{}:]|[^\s{}:"#]+)')


def parse(text):
    """A message as {field: [values]}; values are strings, floats or messages."""
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
        return token[1:-1]
    try:
        return float(token)
    except ValueError:
        return {'true': True, 'false': False}.get(token, token)


def one(message, field, default=None):
    return message.get(field, [default])[0]


def train_layers(net):
    """The layers of phase TRAIN, data layers left out."""
    chosen = []
    for layer in net['layer']:
        rules = layer.get('include', [])
        if rules and not any(one(rule, 'phase', 'TRAIN') == 'TRAIN' for rule in rules):
            continue
        if one(layer, 'type') not in ('Data', 'Input', 'Accuracy'):
            chosen.append(layer)
    return chosen


def wire_fields(data):
    """(field number, value) of one binary message; length-delimited values as memoryviews."""
    at = 0

    def varint():
        nonlocal at
        result = shift = 0
        while True:
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        else:
            size = 4 if kind == 5 else 8
            yield key >> 3, data[at:at + size]
            at += size


def weights(path):
    """{layer: [(shape, array of floats)]} of a .caffemodel."""
    found = {}
    with open(path, 'rb') as file:
        content = memoryview(file.read())
    for number, layer in wire_fields(content):
        if number != 100:
            continue
        name, blobs = '', []
        for field, value in wire_fields(layer):
            if field == 1:
                name = bytes(value).decode()
            elif field == 7:
                blobs.append(blob(value))
        if blobs:
            found[name] = blobs
    return found


def blob(message):
    shape, data = [], array('f')
    for field, value in wire_fields(message):
        if field == 7:
            for _, dims in wire_fields(value):
                at = 0
                while isinstance(dims, memoryview) and at < len(dims):
                    result = shift = 0
                    while True:
                        byte = dims[at]
                        at += 1
                        result |= (byte & 127) << shift
                        shift += 7
                        if byte < 128:
                            break
                    shape.append(result)
        elif field == 5:
            data.frombytes(bytes(value))
    return shape, data
