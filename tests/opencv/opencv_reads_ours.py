#!/usr/bin/python3
"""OpenCV's Caffe importer reads our nets and our weights, and computes what `cortado infer` computes.

    opencv_reads_ours.py PROGRAM NET      NET: lenet, resnet18 or googlenet

LeNet learns for a while from real images; the others take one step from their fillers on random ones, which gives every
layer weights and BatchNorm statistics. Compared are the scores before the Softmax, relative to the largest, since the
probabilities of an untrained net hardly differ; and the probabilities.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import cv2
    import numpy
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IMAGES = ROOT / 'tests/parity/cases/data/gray_lmdb'
NETS = {'lenet': ('ip2', (1, 28, 28), 60), 'resnet18': ('fc1000', (3, 224, 224), 1),
        'googlenet': ('loss3/classifier', (3, 224, 224), 1)}
TOLERANCE = 1e-4

RANDOM_IMAGES = '''layer {
  name: "data" type: "DummyData" top: "data" top: "label"
  dummy_data_param {
    shape { dim: 4 dim: 3 dim: 224 dim: 224 } shape { dim: 4 }
    data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 }
  }
}
'''


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit('%s: exit code %d\n%s' % (' '.join(command), done.returncode, done.stdout))


def training_net(name):
    """The training net with data that a clone has."""
    text = (ROOT / 'models' / name / 'train_val.prototxt').read_text()
    if name == 'lenet':
        return re.sub(r'source: "[^"]*"', 'source: "%s"' % IMAGES, text)
    data = re.compile(r'layer \{\n  name: "data" type: "Data".*?\n\}\n', re.DOTALL)
    return data.sub('', data.sub(RANDOM_IMAGES, text, count=1))


def trained(program, name, iterations, folder):
    (folder / 'net.prototxt').write_text(training_net(name))
    (folder / 'solver.prototxt').write_text(
        'net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: %d snapshot_prefix: "trained"\n'
        'random_seed: 7\n' % iterations)
    run(folder, program, 'train', '--cpu', '--solver=solver.prototxt')
    return folder / ('trained_iter_%d.caffemodel' % iterations)


def main():
    program, name = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    scores, shape, iterations = NETS[name]
    deploy = ROOT / 'models' / name / 'deploy.prototxt'
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        weights = trained(program, name, iterations, folder)
        image = numpy.random.default_rng(1).random((1, *shape), dtype=numpy.float32)
        numpy.save(folder / 'data.npy', image)
        run(folder, program, 'infer', '--cpu', '--model=%s' % deploy, '--weights=%s' % weights,
            '--input', 'data=data.npy', '--output', 'prob=prob.npy', '--output', '%s=scores.npy' % scores)
        net = cv2.dnn.readNetFromCaffe(str(deploy), str(weights))
        net.setInput(image)
        theirs = {'prob': net.forward('prob'), 'scores': net.forward(scores)}
        ours = {blob: numpy.load(folder / (blob + '.npy')) for blob in theirs}
    errors = {blob: abs(ours[blob].ravel() - theirs[blob].ravel()).max() / abs(theirs[blob]).max() for blob in theirs}
    spread = theirs['scores'].std()
    print('%s: relative difference of scores %.2g, of probabilities %.2g; scores spread over %.3g' % (
        name, errors['scores'], errors['prob'], spread))
    sys.exit(not (max(errors.values()) <= TOLERANCE and spread > 1e-3))


if __name__ == '__main__':
    main()
