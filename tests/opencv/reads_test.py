"""OpenCV's Caffe importer reads our nets and weights, and computes the same as `cortado infer`.

LeNet is trained on real images; the others take one step from their fillers on random images, which sets all weights
and BatchNorm statistics. The scores before the Softmax are compared, relative to the largest one, because the
probabilities of an untrained net hardly differ; and the probabilities.
"""
import pathlib, re

import pytest

cv2 = pytest.importorskip('cv2')
import numpy

TOLERANCE = 1e-4

RANDOM_IMAGES = '''layer {
  name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param {
    shape { dim: 4 dim: 3 dim: 224 dim: 224 } shape { dim: 4 }
    data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 }
  }
}
'''


def training_net(source, name):
    """The training net with data of the repository."""
    text = pathlib.Path(source, 'models', name, 'train_val.prototxt').read_text()
    if name == 'lenet':
        return re.sub(r'source: "[^"]*"', 'source: "%s/tests/parity/cases/data/gray_lmdb"' % source, text)
    data = re.compile(r'layer \{\n  name: "data" type: "Data".*?\n\}\n', re.DOTALL)
    return data.sub('', data.sub(RANDOM_IMAGES, text, count=1))


@pytest.mark.parametrize('name, scores, shape, iterations', [
    ('lenet', 'ip2', (1, 28, 28), 60), ('resnet18', 'fc1000', (3, 224, 224), 1),
    ('googlenet', 'loss3/classifier', (3, 224, 224), 1)])
def test_opencv_computes_the_same(run, folder, source, name, scores, shape, iterations):
    (folder / 'net.prototxt').write_text(training_net(source, name))
    (folder / 'solver.prototxt').write_text(
        'net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: %d snapshot_prefix: "trained"\n'
        'random_seed: 7\n' % iterations)
    run('train', '--cpu', '--solver=solver.prototxt', timeout=280)
    deploy, weights = '%s/models/%s/deploy.prototxt' % (source, name), 'trained_iter_%d.caffemodel' % iterations
    image = numpy.random.default_rng(1).random((1, *shape), dtype=numpy.float32)
    numpy.save('data.npy', image)
    run('infer', '--cpu', '--model=' + deploy, '--weights=' + weights, '--input', 'data=data.npy', '--output',
        'prob=prob.npy', '--output', '%s=scores.npy' % scores)
    net = cv2.dnn.readNetFromCaffe(deploy, weights)
    net.setInput(image)
    for blob, file in (('prob', 'prob.npy'), (scores, 'scores.npy')):
        ours, theirs = numpy.load(file).ravel(), net.forward(blob).ravel()
        assert abs(ours - theirs).max() / abs(theirs).max() <= TOLERANCE, blob
    assert theirs.std() > 1e-3, 'the scores hardly differ'
