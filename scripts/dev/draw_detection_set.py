#!/usr/bin/python3
"""Draws a dataset for detection: Fashion-MNIST's images at random sizes and places on canvases with clutter.

    draw_detection_set.py FOLDER [--train=4000] [--test=1000] [--seed=1]

Writes FOLDER/images/*.png, FOLDER/annotations/*.xml (PASCAL VOC's format), FOLDER/labelmap.prototxt, and the lists
FOLDER/train.txt and FOLDER/test.txt for 'cortado convert annoset'. Training images come from Fashion-MNIST's training
set, test images from its test set. The same seed draws the same dataset.
"""
import argparse
import gzip
import pathlib
import struct
import zlib

import numpy

SOURCE = pathlib.Path('/usr/share/datasets/fashion-mnist')
NAMES = ['t_shirt', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'ankle_boot']
SMALLEST, LARGEST = 28, 96  # of an object's longer side
CANVAS = 160, 208


def read_pictures(part):
    """N x 28 x 28 bytes and N labels."""
    with gzip.open(SOURCE / (part + '-images-idx3-ubyte.gz')) as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(SOURCE / (part + '-labels-idx1-ubyte.gz')) as file:
        return images, numpy.frombuffer(file.read(), numpy.uint8, offset=8)


def trimmed(picture):
    """The picture cropped to its pixels above 20."""
    rows, columns = numpy.where((picture > 20).any(1))[0], numpy.where((picture > 20).any(0))[0]
    if not len(rows):
        return picture
    return picture[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]


def resized(picture, height, width):
    """Bilinear interpolation."""
    def places(old, new):
        at = numpy.clip((numpy.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        low = numpy.floor(at).astype(int)
        return low, numpy.minimum(low + 1, old - 1), at - low
    y0, y1, fy = places(picture.shape[0], height)
    x0, x1, fx = places(picture.shape[1], width)
    picture = picture.astype(numpy.float32)
    rows = picture[y0] * (1 - fy)[:, None] + picture[y1] * fy[:, None]
    return rows[:, x0] * (1 - fx) + rows[:, x1] * fx


def png(image):
    """A grey image as a PNG file."""
    height, width = image.shape
    lines = numpy.zeros((height, width + 1), numpy.uint8)  # each begins with its filter: none
    lines[:, 1:] = image

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    head = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(lines.tobytes(), 1)) +
            chunk(b'IEND', b''))


def overlaps(box, others):
    return any(min(box[2], o[2]) - max(box[0], o[0]) > 4 and min(box[3], o[3]) - max(box[1], o[1]) > 4 for o in others)


class Artist:
    def __init__(self, part, seed):
        self.random = numpy.random.default_rng(seed)
        self.images, self.labels = read_pictures(part)

    def background(self, height, width):
        """A grey gradient with noise."""
        r = self.random
        down, across = numpy.mgrid[0:height, 0:width]
        slope = r.uniform(-30, 30) * down / height + r.uniform(-30, 30) * across / width
        return r.uniform(20, 70) + slope + r.normal(0, r.uniform(0, 8), (height, width))

    def add_clutter(self, canvas):
        """Draws bars, and parts of pictures that are too small to be objects."""
        r = self.random
        height, width = canvas.shape
        for _ in range(r.integers(0, 6)):
            h, w = r.integers(2, 6), r.integers(10, 60)
            if r.random() < 0.5:
                h, w = w, h
            y, x = r.integers(0, height - h), r.integers(0, width - w)
            canvas[y:y + h, x:x + w] = r.uniform(0, 220)
        for _ in range(r.integers(0, 4)):
            y, x = r.integers(0, 20, 2)
            scrap = self.images[r.integers(len(self.images))][y:y + 8, x:x + 8]
            y, x = r.integers(0, height - 8), r.integers(0, width - 8)
            canvas[y:y + 8, x:x + 8] = numpy.maximum(canvas[y:y + 8, x:x + 8], scrap)

    def draw(self):
        """A canvas, and its objects: (label, left, top, right, bottom)."""
        r = self.random
        height, width = r.integers(CANVAS[0], CANVAS[1] + 1, 2)
        canvas = self.background(height, width)
        self.add_clutter(canvas)
        objects = []
        for _ in range(r.integers(1, 5)):
            which = r.integers(len(self.images))
            picture = trimmed(self.images[which])
            scale = numpy.exp(r.uniform(numpy.log(SMALLEST), numpy.log(LARGEST))) / max(picture.shape)
            h, w = (max(int(side * scale), 8) for side in picture.shape)
            for _ in range(20):
                y, x = int(r.integers(0, height - h)), int(r.integers(0, width - w))
                if overlaps((x, y, x + w, y + h), [o[1:] for o in objects]):
                    continue
                picture = resized(picture, h, w)
                seen = numpy.clip(picture / 40, 0, 1)
                place = canvas[y:y + h, x:x + w]
                place[:] = place * (1 - seen) + picture * seen * r.uniform(0.7, 1)
                objects.append((NAMES[self.labels[which]], x, y, x + w, y + h))
                break
        return numpy.clip(canvas, 0, 255).astype(numpy.uint8), objects


def voc(name, shape, objects):
    lines = ['<annotation>', '  <filename>%s.png</filename>' % name,
             '  <size><width>%d</width><height>%d</height><depth>1</depth></size>' % (shape[1], shape[0])]
    for label, *box in objects:
        lines.append('  <object><name>%s</name><difficult>0</difficult><bndbox><xmin>%d</xmin><ymin>%d</ymin>'
                     '<xmax>%d</xmax><ymax>%d</ymax></bndbox></object>' % (label, *box))
    return '\n'.join(lines + ['</annotation>', ''])


def draw_part(folder, part, source, count, seed):
    artist, listed = Artist(source, seed), []
    for i in range(count):
        name = '%s_%05d' % (part, i)
        canvas, objects = artist.draw()
        (folder / 'images' / (name + '.png')).write_bytes(png(canvas))
        (folder / 'annotations' / (name + '.xml')).write_text(voc(name, canvas.shape, objects))
        listed.append('images/%s.png annotations/%s.xml\n' % (name, name))
    (folder / (part + '.txt')).write_text(''.join(listed))


def label_map():
    items = [('none_of_the_above', 0, 'background')] + [(n, i + 1, n.replace('_', ' ')) for i, n in enumerate(NAMES)]
    return ''.join('item { name: "%s" label: %d display_name: "%s" }\n' % item for item in items)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--train', type=int, default=4000)
    parser.add_argument('--test', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    for part in 'images', 'annotations':
        (options.folder / part).mkdir(parents=True, exist_ok=True)
    draw_part(options.folder, 'train', 'train', options.train, [options.seed, 0])
    draw_part(options.folder, 'test', 't10k', options.test, [options.seed, 1])
    (options.folder / 'labelmap.prototxt').write_text(label_map())


if __name__ == '__main__':
    main()
