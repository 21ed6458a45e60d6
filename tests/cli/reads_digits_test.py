"""The files of models/crnn_digits: `check` accepts them, a training learns six strips, and a resume yields the same
bytes. On these six strips and six unseen ones, the accuracy of `cortado test` is the share of strips whose digits
`cortado infer` reads correctly."""
import json, os, re, subprocess, sys

import pytest

for module in 'cv2', 'h5py', 'numpy': pytest.importorskip(module)  # draw_digit_set.py imports them
import h5py, numpy

FOLDER, DATA, STRIPS, BLANK = 'models/crnn_digits', 'data_sets/digits', 6, 10
SETTINGS = 'max_iter=240 snapshot=120 test_interval=1000 warmup_iter=0 lr_policy=fixed'.split()


@pytest.fixture(scope='module')
def train(run):
    """train('prefix') returns the bytes of the final weights."""
    def train(prefix, *more):
        sets = [word for setting in SETTINGS + ['snapshot_prefix=' + prefix] for word in ('--set', 'solver.' + setting)]
        run('train', '--solver=%s/solver.prototxt' % FOLDER, '--threads=1', *sets, *more, timeout=None)
        with open(prefix + '_iter_240.caffemodel', 'rb') as file: return file.read()
    return train


@pytest.fixture(scope='module')
def model(helper, source, shared_folder):
    """The model with small batches; its test set are the training strips and as many others."""
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
    """The weights of an uninterrupted training."""
    return train('whole')


@pytest.mark.parametrize('name', ['solver', 'deploy'])
def test_files_check(model, run, name):
    run('check', '%s/%s.prototxt' % (FOLDER, name))


def test_resumed_training_has_the_same_weights(whole, train):
    os.mkdir('half')
    for kind in ('solverstate', 'caffemodel'): os.rename('whole_iter_120.' + kind, 'half/whole_iter_120.' + kind)
    assert train('half/whole', '--snapshot=auto') == whole


def read_by_infer(run, weights):
    """The share of strips whose digits are all correct."""
    images, labels = [], []
    for part in ('test', 'train'):
        with h5py.File('%s/%s.h5' % (DATA, part)) as file:
            images.append(file['data'][:])
            labels += [[digit for digit in row if digit != BLANK] for row in file['label'][:].astype(int)]
    numpy.save('strips.npy', numpy.concatenate(images).astype('f4'))
    run('infer', '--model=%s/deploy.prototxt' % FOLDER, '--weights=' + weights, '--input', 'data=strips.npy',
        '--output', 'digits=digits.npy')
    right = [[digit for digit in row if digit >= 0] == label for row, label in zip(numpy.load('digits.npy'), labels)]
    assert len(right) == 2 * STRIPS
    return sum(right) / len(right)


def test_infer_and_test_agree(whole, run):
    weights = 'whole_iter_240.caffemodel'
    tested = json.loads(run('test', '--model=%s/train_val.prototxt' % FOLDER, '--weights=' + weights, '--iterations=1',
                            '--json').stdout)['outputs']['accuracy']
    read = read_by_infer(run, weights)
    assert abs(tested - read) < 1e-6 and 0.4 < read < 1
