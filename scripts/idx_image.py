#!/usr/bin/python3
"""Writes one image of an MNIST-style idx file as PNG: idx_image.py IMAGES.gz INDEX OUT.png"""
import gzip
import struct
import sys
import zlib


def chunk(kind, body):
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))


def main():
    source, index, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with gzip.open(source) as file:
        _, count, height, width = struct.unpack('>4I', file.read(16))
        if not 0 <= index < count:
            sys.exit('%s holds images 0 to %d' % (source, count - 1))
        file.seek(16 + index * height * width)
        rows = b''.join(b'\0' + file.read(width) for _ in range(height))
    header = struct.pack('>2I5B', width, height, 8, 0, 0, 0, 0)  # 8-bit grey
    parts = chunk(b'IHDR', header), chunk(b'IDAT', zlib.compress(rows)), chunk(b'IEND', b'')
    with open(target, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + b''.join(parts))


if __name__ == '__main__':
    main()
