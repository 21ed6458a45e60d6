#!/usr/bin/python3
"""models/crnn_digits, as its files are: they check, learn six strips by heart, go on from a snapshot to the same bytes.
Of those six and six that the net has not seen, the share that `cortado test` calls right is that of the strips whose
digits `cortado infer` reads as they were drawn.

    reads_digits.py CORTADO
"""
import json, os, re, subprocess, sys, tempfile

try:
    import cv2, h5py, numpy  # what the drawing script needs
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER, DATA, STRIPS, BLANK = 'models/crnn_digits', 'data_sets/digits', 6, 10
SETTINGS = 'max_iter=240 snapshot=120 test_interval=1000 warmup_iter=0 lr_policy=fixed'.split()


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.returncode, done.stderr[-2000:])
    return done

def train(exe, prefix, *more):
    sets = [word for setting in SETTINGS + ['snapshot_prefix=' + prefix] for word in ('--set', 'solver.' + setting)]
    run(exe, 'train', '--solver=%s/solver.prototxt' % FOLDER, '--threads=1', *sets, *more)
    return open(prefix + '_iter_240.caffemodel', 'rb').read()

def few_strips():
    """The model with batches of a few strips, tested on what it learns and on as many others."""
    os.makedirs(FOLDER)
    run(sys.executable, ROOT + '/scripts/draw_digit_set.py', DATA, '--train=%d' % STRIPS, '--test=%d' % STRIPS)
    with open(DATA + '/test.txt', 'a') as file: file.write(DATA + '/train.h5\n')
    for name in ('solver', 'deploy', 'train_val'):
        text = open('%s/%s/%s.prototxt' % (ROOT, FOLDER, name)).read()
        text = re.sub('batch_size: 32', 'batch_size: %d' % STRIPS, text)
        text = re.sub('batch_size: 50', 'batch_size: %d' % (2 * STRIPS), text)
        open('%s/%s.prototxt' % (FOLDER, name), 'w').write(text)

def read_by_infer(exe, weights):
    """The share of strips whose digits are all right."""
    images, labels = [], []
    for part in ('test', 'train'):
        with h5py.File('%s/%s.h5' % (DATA, part)) as file:
            images.append(file['data'][:])
            labels += [[digit for digit in row if digit != BLANK] for row in file['label'][:].astype(int)]
    numpy.save('strips.npy', numpy.concatenate(images).astype('f4'))
    run(exe, 'infer', '--model=%s/deploy.prototxt' % FOLDER, '--weights=' + weights, '--input', 'data=strips.npy',
        '--output', 'digits=digits.npy')
    right = [[digit for digit in row if digit >= 0] == wanted for row, wanted in zip(numpy.load('digits.npy'), labels)]
    assert len(right) == 2 * STRIPS
    return sum(right) / len(right)

def main():
    exe = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        few_strips()
        for name in ('solver', 'deploy'): run(exe, 'check', '%s/%s.prototxt' % (FOLDER, name))
        whole = train(exe, 'whole')
        for kind in ('solverstate', 'caffemodel'): os.rename('whole_iter_120.' + kind, 'half_iter_120.' + kind)
        assert train(exe, 'half', '--snapshot=auto') == whole, 'the resumed training has other weights'
        weights = 'whole_iter_240.caffemodel'
        tested = json.loads(run(exe, 'test', '--model=%s/train_val.prototxt' % FOLDER, '--weights=' + weights,
                                '--iterations=1', '--json').stdout)['outputs']['accuracy']
        read = read_by_infer(exe, weights)
        print('%.4f of the strips are right by test, %.4f by infer' % (tested, read))
        assert abs(tested - read) < 1e-6 and 0.4 < read < 1


main()
