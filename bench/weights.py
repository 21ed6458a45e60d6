"""Reads a .caffemodel, independent of the program: an index of the blobs' offsets, then each blob directly from the
file, so that only used blobs are in memory."""
import mmap

import numpy

LAYER, NAME, BLOBS, DATA, SHAPE = 100, 1, 7, 5, 7  # field numbers of net, layer and blob


def varint(data, at):
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return result, at


def fields(data, at, end):
    """(number, begin, end) of each length-delimited field of the message in [at, end); others are skipped."""
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            _, at = varint(data, at)
            continue
        size, at = varint(data, at) if kind == 2 else (4 if kind == 5 else 8, at)
        if kind == 2:
            yield key >> 3, at, at + size
        at += size


def blob(data, begin, end):
    """(shape, offset of the floats) of a blob."""
    shape, offset = [], 0
    for number, start, stop in fields(data, begin, end):
        if number == DATA:
            offset = start
        elif number == SHAPE:
            for _, at, last in fields(data, start, stop):
                while at < last:
                    size, at = varint(data, at)
                    shape.append(size)
    return shape, offset


def index(path):
    found = {}
    with open(path, 'rb') as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for number, begin, end in fields(data, 0, len(data)):
            if number != LAYER:
                continue
            name, blobs = '', []
            for part, start, stop in fields(data, begin, end):
                if part == NAME:
                    name = data[start:stop].decode()
                elif part == BLOBS:
                    blobs.append(blob(data, start, stop))
            if blobs:
                found[name] = blobs
    return found


class Weights:
    """blobs(layer) reads the arrays of a layer."""

    def __init__(self, path):
        self.path = path
        self.index = index(path)

    def blobs(self, layer):
        return [numpy.fromfile(self.path, numpy.float32, int(numpy.prod(shape)), offset=offset).reshape(shape)
                for shape, offset in self.index.get(layer, [])]
