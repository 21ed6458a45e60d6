#!/usr/bin/python3
"""Compares fine-tuning with training from random weights, in equal processor time, on 200 photos of five classes:
garments of Fashion-MNIST as colour images, or a folder of your own with train/CLASS/ and val/CLASS/.

    bench/finetune.py [--photos=FOLDER] [--seeds=3]

Fine-tuning is `cortado new classifier --from=efficientnet_lite0` (scripts/fetch_backbone.sh) with all its defaults. The
other net is the one that `cortado new classifier` chooses without --from, trained for at least the same time: its rate
falls to 0 within it. Prints the accuracies on the test set for each seed.
"""
import argparse, gzip, math, os, pathlib, re, resource, shutil, subprocess, sys, tempfile

import cv2
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[1]
CORTADO = str(ROOT / 'build/bin/cortado')
GARMENTS = {0: 'tshirt', 2: 'pullover', 3: 'dress', 4: 'coat', 6: 'shirt'}  # they are hard to distinguish
TRAIN, TEST, SIDE = 40, 200, 128                                           # images of a class


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--photos', metavar='FOLDER')
    parser.add_argument('--seeds', type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        photos = os.path.abspath(options.photos) if options.photos else draw_garments(pathlib.Path('photos'))
        cortado('convert', 'folder', photos, '-o', 'data')
        speed = processor_seconds_of_an_epoch()
        print('%6s %12s %10s %12s %10s' % ('seed', 'fine-tuned', 'CPU s', 'scratch', 'CPU s'), flush=True)
        for seed in range(1, options.seeds + 1):
            tuned, seconds = train('tuned', seed, '--from=efficientnet_lite0')
            epochs = math.ceil(seconds / speed)
            scratch, more = train('scratch', seed, '--epochs=%d' % epochs)
            print('%6d %12.3f %10.0f %12.3f %10.0f' % (seed, tuned, seconds, scratch, more), flush=True)


def cortado(*words):
    done = subprocess.run([CORTADO, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode: sys.exit('%s\n%s' % (' '.join(words), done.stdout))
    return done


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor_seconds_of_an_epoch():
    times = [train('scratch', 1, '--epochs=%d' % epochs)[1] for epochs in (2, 6)]
    return (times[1] - times[0]) / 4


def train(name, seed, *flags):
    """(accuracy on the test set, processor seconds of the training). It has no tests in between."""
    shutil.rmtree(name, ignore_errors=True)
    cortado('new', 'classifier', '--data=data', '-o', name, '--json', *flags)
    before = processor_seconds()
    cortado('train', name + '/solver.prototxt', *('--set=solver.%s=%d' % field for field in
            (('random_seed', seed), ('test_interval', 1000000), ('snapshot', 0))))
    seconds = processor_seconds() - before
    weights = max(pathlib.Path(name, 'snapshots').glob('*_iter_*.caffemodel'), key=os.path.getmtime)
    report = cortado('test', name + '/train_val.prototxt', str(weights)).stdout
    return float(re.findall(r'accuracy = ([\d.]+)', report)[-1]), seconds  # the last is the mean of all batches


def draw_garments(folder):
    """Fashion-MNIST's grey images of 28 x 28, enlarged, each in a random colour before a random background."""
    def values(kind, head):
        path = '/usr/share/datasets/fashion-mnist/train-%s-ubyte.gz' % kind
        return numpy.frombuffer(gzip.open(path).read(), numpy.uint8, offset=head)
    images, labels = values('images-idx3', 16).reshape(-1, 28, 28), values('labels-idx1', 8)
    random = numpy.random.RandomState(0)
    for part, count, pool in ('train', TRAIN, slice(0, 3000)), ('val', TEST, slice(3000, 6000)):
        for label, name in GARMENTS.items():
            place = folder / part / name
            place.mkdir(parents=True)
            for i in random.choice(numpy.flatnonzero(labels == label)[pool], count, replace=False):
                grey = cv2.resize(images[i], (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)[..., None] / 255
                colour, background = random.randint(120, 256, 3), random.randint(0, 100, 3)
                picture = grey * grey * colour + (1 - grey) * background
                cv2.imwrite(str(place / ('%05d.jpg' % i)), picture.clip(0, 255).astype(numpy.uint8))
    return str(folder)


if __name__ == '__main__': main()
