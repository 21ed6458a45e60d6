#!/usr/bin/python3
"""Makes the two datasets for measurements of the data path:

    data_sets.py CORTADO FOLDER [--raw=N] [--jpeg=N]

FOLDER/raw_lmdb has N raw records of 3x256x256, FOLDER/jpeg_lmdb N JPEGs of 500x375. Images are random crops of large
canvases of noise at all scales (amplitude falling with frequency, as in photographs) with edges drawn on top, so that a
JPEG has about the size of a photograph and no two records are equal.
"""
import argparse, os, subprocess, tempfile
import numpy

SIDE = 2048


def canvas(draw):
    """A SIDE x SIDE x 3 image."""
    frequency = numpy.hypot(numpy.fft.fftfreq(SIDE)[:, None], numpy.fft.rfftfreq(SIDE)[None, :]) * SIDE + 1
    def field(power):
        spectrum = numpy.fft.rfft2(draw.standard_normal((SIDE, SIDE)))
        plane = numpy.fft.irfft2(spectrum / frequency ** power, (SIDE, SIDE))
        return plane / plane.std()
    luma, edges = field(1.6), field(1.9)
    luma += 0.9 * numpy.sign(edges) + 0.5 * numpy.sign(edges - 0.8)
    planes = [118 + 34 * (luma + 0.35 * field(1.8)) for _ in range(3)]
    return numpy.clip(numpy.stack(planes, -1), 0, 255).astype(numpy.uint8)


def write_images(folder, draw, canvases, n, height, width):
    """Writes n .ppm files and their list; the labels are 0 to 99."""
    with open(os.path.join(folder, 'list.txt'), 'w') as names:
        for i in range(n):
            y, x = draw.integers(SIDE - height), draw.integers(SIDE - width)
            image = canvases[i % len(canvases)][y:y + height, x:x + width]
            with open(os.path.join(folder, '%d.ppm' % i), 'wb') as file:
                file.write(b'P6\n%d %d\n255\n' % (width, height) + numpy.ascontiguousarray(image).tobytes())
            names.write('%d.ppm %d\n' % (i, i % 100))


def make(cortado, path, draw, canvases, n, height, width, *flags):
    if n == 0 or os.path.exists(path): return
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        write_images(folder, draw, canvases, n, height, width)
        subprocess.run([cortado, 'convert', 'imageset', folder + '/', folder + '/list.txt', path, *flags], check=True,
                       stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('cortado')
    parser.add_argument('folder')
    parser.add_argument('--raw', type=int, default=4000)
    parser.add_argument('--jpeg', type=int, default=3000)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    draw = numpy.random.default_rng(1)
    canvases = [canvas(draw) for _ in range(6)]
    make(options.cortado, os.path.join(options.folder, 'raw_lmdb'), draw, canvases, options.raw, 256, 256)
    make(options.cortado, os.path.join(options.folder, 'jpeg_lmdb'), draw, canvases, options.jpeg, 375, 500,
         '--encoded', '--encode-type=jpg')


if __name__ == '__main__':
    main()
