"""models/crnn_digits, as its files are: they check, learn six strips by heart, go on from a snapshot to the same bytes.
Of those six and six that the net has not seen, the share that `cortado test` calls right is that of the strips whose
digits `cortado infer` reads as they were drawn."""
import json, os, re, subprocess, sys

import pytest

for module in 'cv2', 'h5py', 'numpy': pytest.importorskip(module)  # what the drawing script needs
import h5py, numpy

FOLDER, DATA, STRIPS, BLANK = 'models/crnn_digits', 'data_sets/digits', 6, 10
SETTINGS = 'max_iter=240 snapshot=120 test_interval=1000 warmup_iter=0 lr_policy=fixed'.split()


@pytest.fixture(scope='module')
def train(run):
    """train('prefix') trains, and returns the bytes of the last weights."""
    def train(prefix, *more):
        sets = [word for setting in SETTINGS + ['snapshot_prefix=' + prefix] for word in ('--set', 'solver.' + setting)]
        run('train', '--solver=%s/solver.prototxt' % FOLDER, '--threads=1', *sets, *more, timeout=None)
        with open(prefix + '_iter_240.caffemodel', 'rb') as file: return file.read()
    return train


@pytest.fixture(scope='module')
def model(helper, source, shared_folder):
    """The model with batches of a few strips, tested on what it learns and on as many others."""
    helper('cortado-hdf5')
    os.makedirs(FOLDER)
    subprocess.run([sys.executable, source + '/scripts/dev/draw_digit_set.py', DATA, '--train=%d' % STRIPS,
                    '--test=%d' % STRIPS], check=True)
    with open(DATA + '/test.txt', 'a') as file: file.write(DATA + '/train.h5\n')
    for name in ('solver', 'deploy', 'train_val'):
        text = open('%s/%s/%s.prototxt' % (source, FOLDER, name)).read()
        text = re.sub('batch_size: 32', 'batch_size: %d' % STRIPS, text)
        text = re.sub('batch_size: 50', 'batch_size: %d' % (2 * STRIPS), text)
        open('%s/%s.prototxt' % (FOLDER, name), 'w').write(text)


@pytest.fixture(scope='module')
def whole(model, train):
    """The weights of a training that nothing interrupts."""
    return train('whole')


@pytest.mark.parametrize('name', ['solver', 'deploy'])
def test_files_check(model, run, name):
    run('check', '%s/%s.prototxt' % (FOLDER, name))


def test_resumed_training_has_the_same_weights(whole, train):
    os.mkdir('half')
    for kind in ('solverstate', 'caffemodel'): os.rename('whole_iter_120.' + kind, 'half/whole_iter_120.' + kind)
    assert train('half/whole', '--snapshot=auto') == whole


def read_by_infer(run, weights):
    """The share of strips whose digits are all right."""
    images, labels = [], []
    for part in ('test', 'train'):
        with h5py.File('%s/%s.h5' % (DATA, part)) as file:
            images.append(file['data'][:])
            labels += [[digit for digit in row if digit != BLANK] for row in file['label'][:].astype(int)]
    numpy.save('strips.npy', numpy.concatenate(images).astype('f4'))
    run('infer', '--model=%s/deploy.prototxt' % FOLDER, '--weights=' + weights, '--input', 'data=strips.npy',
        '--output', 'digits=digits.npy')
    right = [[digit for digit in row if digit >= 0] == wanted for row, wanted in zip(numpy.load('digits.npy'), labels)]
    assert len(right) == 2 * STRIPS
    return sum(right) / len(right)


def test_infer_reads_what_test_calls_right(whole, run):
    weights = 'whole_iter_240.caffemodel'
    tested = json.loads(run('test', '--model=%s/train_val.prototxt' % FOLDER, '--weights=' + weights, '--iterations=1',
                            '--json').stdout)['outputs']['accuracy']
    read = read_by_infer(run, weights)
    assert abs(tested - read) < 1e-6 and 0.4 < read < 1
