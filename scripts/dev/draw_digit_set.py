#!/usr/bin/python3
"""Draws a dataset for reading: strips of three to seven digits, 32 x 160 grey pixels, with clutter.

    draw_digit_set.py FOLDER [--train=12000] [--test=1000] [--seed=1]

Writes FOLDER/train.h5 and FOLDER/test.h5 for HDF5Data (`data`, N x 1 x 32 x 160 bytes; `label`, N x 7: the digits, then
BLANK), FOLDER/train.txt and FOLDER/test.txt, which name them, and FOLDER/sheet.png with the first test strips. The
fonts are OpenCV's eight Hershey fonts. Each digit of a strip is stretched, slanted and rotated independently. The same
seed and the same OpenCV draw the same dataset. Training and test strips have different seeds.
"""
import argparse
import pathlib

import cv2
import h5py
import numpy

HEIGHT, WIDTH = 32, 160
FEWEST, MOST = 3, 7
BLANK = 10  # the class after the digits
FONTS = [getattr(cv2, 'FONT_HERSHEY_' + name) for name in
         ('SIMPLEX', 'PLAIN', 'DUPLEX', 'COMPLEX', 'TRIPLEX', 'COMPLEX_SMALL', 'SCRIPT_SIMPLEX', 'SCRIPT_COMPLEX')]
PEN = 96  # a digit is first drawn on a square of this side


def pen_drawing(digit, font, thickness):
    """The digit, about 48 pixels high, cropped to its ink: values 0 to 1."""
    scale = 48 / cv2.getTextSize('0', font, 1, 1)[0][1]
    square = numpy.zeros((PEN, PEN), numpy.uint8)
    cv2.putText(square, str(digit), (16, 72), font, scale, 255, thickness, cv2.LINE_AA)
    x, y, w, h = cv2.boundingRect(square)
    return square[y:y + h, x:x + w].astype(numpy.float32) / 255


class Artist:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)

    def digit(self, digit, font, height):
        """A digit, about `height` pixels high, cropped to its ink: values 0 to 1."""
        r = self.random
        drawn = pen_drawing(digit, font, int(r.integers(2, 8)))
        tall = height * r.uniform(0.9, 1.1) / drawn.shape[0]
        wide = tall * r.uniform(0.75, 1.2)
        turn, slant = numpy.radians(r.uniform(-10, 10)), r.uniform(-0.25, 0.25)
        turned = numpy.array([[numpy.cos(turn), -numpy.sin(turn)], [numpy.sin(turn), numpy.cos(turn)]])
        matrix = turned @ numpy.array([[wide, slant * tall], [0, tall]])
        middle = numpy.array(drawn.shape[::-1]) / 2
        matrix = numpy.column_stack([matrix, numpy.full(2, HEIGHT) - matrix @ middle])
        small = cv2.warpAffine(drawn, matrix, (2 * HEIGHT, 2 * HEIGHT), flags=cv2.INTER_AREA)
        x, y, w, h = cv2.boundingRect((small > 0.1).astype(numpy.uint8))
        return small[y:y + h, x:x + w]

    def row(self):
        """The digits, and their ink side by side: HEIGHT x WIDTH values 0 to 1."""
        r = self.random
        digits = r.integers(0, 10, r.integers(FEWEST, MOST + 1))
        font, height = FONTS[r.integers(len(FONTS))], r.uniform(15, 25)
        pieces = [self.digit(digit, font, height) for digit in digits]
        gap = r.integers(0, 8)
        while sum(piece.shape[1] + gap for piece in pieces) > WIDTH - 4:
            gap = max(gap - 1, 0)
            pieces = [cv2.resize(piece, None, fx=0.94, fy=0.94, interpolation=cv2.INTER_AREA) for piece in pieces]
        ink = numpy.zeros((HEIGHT, WIDTH), numpy.float32)
        x = int(r.integers(1, WIDTH - sum(piece.shape[1] + gap for piece in pieces)))
        line = r.uniform(0, 1)
        for piece in pieces:
            h, w = piece.shape
            y = int(numpy.clip(line * (HEIGHT - h) + r.integers(-1, 2), 0, HEIGHT - h))
            ink[y:y + h, x:x + w] = numpy.maximum(ink[y:y + h, x:x + w], piece)
            x += w + gap
        return digits, ink

    def background(self):
        """A grey gradient with lines and dots."""
        r = self.random
        down, across = numpy.mgrid[0:HEIGHT, 0:WIDTH]
        ground = (r.uniform(60, 190) + r.uniform(-25, 25) * down / HEIGHT + r.uniform(-40, 40) * across / WIDTH)
        ground = ground.astype(numpy.float32)
        for _ in range(r.integers(0, 5)):
            ends = [(int(r.integers(WIDTH)), int(r.integers(HEIGHT))) for _ in range(2)]
            cv2.line(ground, *ends, float(ground.mean() + r.uniform(-60, 60)), 1, cv2.LINE_AA)
        for _ in range(r.integers(0, 12)):
            at = int(r.integers(WIDTH)), int(r.integers(HEIGHT))
            cv2.circle(ground, at, int(r.integers(1, 3)), float(ground.mean() + r.uniform(-80, 80)), -1, cv2.LINE_AA)
        return ground

    def strip(self):
        """HEIGHT x WIDTH bytes, and MOST labels."""
        r = self.random
        digits, ink = self.row()
        ground = self.background()
        contrast = r.uniform(70, 150) * (-1 if ground.mean() > 125 else 1)
        image = ground + contrast * ink + r.normal(0, r.uniform(0, 12), ink.shape)
        if r.random() < 0.3:
            image = cv2.GaussianBlur(image, (3, 3), r.uniform(0.4, 0.8))
        labels = numpy.full(MOST, BLANK, numpy.uint8)
        labels[:len(digits)] = digits
        return numpy.clip(image, 0, 255).astype(numpy.uint8), labels


def draw_part(folder, part, count, seed):
    artist = Artist(seed)
    strips = [artist.strip() for _ in range(count)]
    images = numpy.stack([image for image, _ in strips])
    with h5py.File(folder / (part + '.h5'), 'w') as file:
        file['data'], file['label'] = images[:, None], numpy.stack([labels for _, labels in strips])
    (folder / (part + '.txt')).write_text('%s\n' % (folder / (part + '.h5')))
    return images


def sheet(images):
    """Three columns of strips, enlarged."""
    images = numpy.pad(images, ((0, -len(images) % 3), (1, 1), (1, 1)), constant_values=255)
    rows = [numpy.hstack(images[i:i + 3]) for i in range(0, len(images), 3)]
    return cv2.resize(numpy.vstack(rows), None, fx=2, fy=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--train', type=int, default=12000)
    parser.add_argument('--test', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    draw_part(options.folder, 'train', options.train, [options.seed, 0])
    images = draw_part(options.folder, 'test', options.test, [options.seed, 1])
    cv2.imwrite(str(options.folder / 'sheet.png'), sheet(images[:48]))


if __name__ == '__main__':
    main()
