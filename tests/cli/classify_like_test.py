"""`classify` returns the scores that the net's test has for the same images. It takes size, crop, mean and scale from
the data layer, which reads an LMDB made from the images or the images themselves.
"""
import collections, glob, json, math, os, random, shutil, struct, zlib

import pytest

CLASSES, EACH = ['dark', 'light', 'mixed'], 12

NET = '''name: "like"
%s
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
DATA = '''layer { name: "data" type: "Data" top: "data" top: "label"
  include { phase: %s } transform_param { crop_size: 16 mirror: true mean_file: "%s" scale: 0.0078125 }
  data_param { source: "set/train_lmdb" batch_size: 36 backend: LMDB } }'''
IMAGE_DATA = '''layer { name: "data" type: "ImageData" top: "data" top: "label"
  include { phase: %s } transform_param { mean_value: 101 scale: 0.0078125 }
  image_data_param { source: "list.txt" batch_size: 36 new_height: 19 new_width: 17 is_color: false } }'''
SOLVER = '''net: "%s"
base_lr: 0.001 lr_policy: "fixed" max_iter: 30 random_seed: 3 solver_mode: CPU
snapshot_prefix: "%s"
'''


def png(path, height, width, pixel):
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + bytes(c for x in range(width) for c in pixel()) for y in range(height))
    with open(path, 'wb') as f:
        f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) +
                chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))

def npy_rows(path):
    content = open(path, 'rb').read()
    header = eval(content[10:10 + content[8] + 256 * content[9]].decode())
    (rows, columns), values = header['shape'], content[10 + content[8] + 256 * content[9]:]
    flat = struct.unpack('<%df' % (rows * columns), values)
    return [flat[i * columns:(i + 1) * columns] for i in range(rows)]

def softmax(row):
    powers = [math.exp(x - max(row)) for x in row]
    return [p / sum(powers) for p in powers]

def classified(done):
    """image -> probabilities by label."""
    out = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        out[one['image']] = [p for _, p in sorted((guess['label'], guess['probability']) for guess in one['top'])]
    return out

def close(a, b): return all(abs(x - y) < 2e-6 for x, y in zip(a, b)) and len(a) == len(b)

def accuracy_of(found):
    right = sum(max(range(3), key=lambda k: row[k]) == CLASSES.index(image.split('/')[-2])
                for image, row in found.items())
    return right / len(found)

Trained = collections.namedtuple('Trained', 'name net weights classify')  # classify: a command line


@pytest.fixture(scope='module')
def images(cortado, run, shared_folder):
    """The images' paths; their dataset is in set/."""
    draw = random.Random(5)
    for k, name in enumerate(CLASSES):
        os.makedirs('photos/' + name)
        for i in range(EACH):
            low, high = [(0, 120), (60, 250), (30, 200)][k]
            pixel = lambda: [min(255, draw.randrange(low, high) + 10 * k * c) for c in range(3)]
            png('photos/%s/%d.png' % (name, i), 20 + i % 4, 24 - i % 3, pixel)
    os.mkdir('set')
    run('convert', 'folder', 'photos', '-o', 'set/train_lmdb', '--resize-height=20', '--resize-width=22')
    run('mean', 'set/train_lmdb', '-o', 'set/mean.npy')
    paths = sorted(glob.glob('photos/*/*'))
    (shared_folder / 'list.txt').write_text(
        ''.join('%s %d\n' % (path, CLASSES.index(path.split('/')[1])) for path in paths))
    return paths


@pytest.fixture(scope='module')
def train(run, images, shared_folder):
    """train('lmdb') or ('list') trains on that data layer."""
    layers = {'lmdb': [DATA % ('TRAIN', 'set/mean.npy'),
                       (DATA % ('TEST', 'set/mean.npy')).replace('mirror: true', '')],
              'list': [IMAGE_DATA % phase for phase in ('TRAIN', 'TEST')]}
    def train(name):
        os.mkdir(name)
        net, deploy, weights = (name + '/' + file for file in ('train_val.prototxt', 'deploy.prototxt',
                                                               'snap_iter_30.caffemodel'))
        (shared_folder / net).write_text(NET % '\n'.join(layers[name]))
        (shared_folder / name / 'solver.prototxt').write_text(SOLVER % (net, name + '/snap'))
        run('train', '--solver=' + name + '/solver.prototxt')
        run('deploy', net, '-o', deploy)  # the shape is the dataset's
        return Trained(name, net, weights,
                       ['classify', '--model=' + deploy, '--weights=' + weights, '--json', '--top=3'])
    return train


@pytest.fixture(scope='module')
def on_lmdb(train): return train('lmdb')


@pytest.fixture(scope='module')
def on_list(train): return train('list')


@pytest.fixture(scope='module', params=['on_lmdb', 'on_list'])
def trained(request): return request.getfixturevalue(request.param)


@pytest.fixture(scope='module')
def found(run, trained):
    """The probabilities of all images, prepared as in the net."""
    return classified(run(*trained.classify, '--like=' + trained.net, 'photos'))


def test_probabilities_are_those_of_the_net(run, images, trained, found):
    name = trained.name
    run('features', trained.weights, trained.net, '--blobs=ip', '-o', name + '/ip.npy', '--batches=1')
    rows = [softmax(row) for row in npy_rows(name + '/ip.npy')]
    assert sorted(found) == images
    pairs = zip([found[path] for path in images], rows) if name == 'list' else zip(sorted(found.values()), sorted(rows))
    for a, b in pairs: assert close(a, b), (a, b)


def test_scores_are_those_of_the_test(run, trained, found):
    outputs = json.loads(run('test', '--model=' + trained.net, '--weights=' + trained.weights, '--iterations=1',
                             '--json').stdout)['outputs']
    assert abs(accuracy_of(found) - outputs['accuracy']) < 1e-6
    loss = sum(-math.log(row[CLASSES.index(image.split('/')[1])]) for image, row in found.items()) / len(found)
    assert abs(loss - outputs['loss']) < 1e-4 * max(1, loss)


def test_net_next_to_the_weights_is_found(run, images, trained, found):
    done = run(*trained.classify, 'photos/dark', 'photos/[lm]*/*' + os.path.splitext(images[0])[1])
    assert classified(done) == found
    assert 'prepared as in %s' % trained.net in done.stderr
    if trained.name == 'lmdb':  # the dataset has class names
        assert json.loads(done.stdout.splitlines()[0])['top'][0]['name'] in CLASSES


def test_converted_weights_give_equal_results(run, trained, found):
    arrays = trained.name + '/w.npz'
    run('convert', 'weights', trained.weights, arrays)
    assert classified(run(*[word.replace(trained.weights, arrays) for word in trained.classify], 'photos')) == found


def test_flags_replace_the_preparation(run, images, trained, found):
    plain = run(*trained.classify, 'photos', '--like=none')
    assert 'prepared' not in plain.stderr and not close(classified(plain)[images[0]], found[images[0]])
    scaled = run(*trained.classify, 'photos', '--scale=0.001', '--mean=50')
    assert 'minus 50' in scaled.stderr and 'times 0.001' in scaled.stderr


def test_mean_image_sets_the_size_without_the_dataset(run, on_lmdb, shared_folder, tmp_path, monkeypatch):
    """Without a mean image, the mean is required."""
    shutil.copytree(shared_folder, tmp_path / 'copy')
    monkeypatch.chdir(tmp_path / 'copy')
    words = [*on_lmdb.classify, 'photos']
    found = classified(run(*words))
    shutil.rmtree('set/train_lmdb')
    assert classified(run(*words)) == found
    os.remove('set/mean.npy')
    assert 'lmdb/train_val.prototxt:' in run(*words, code=5).stderr
    assert 'does not exist, so the size of its images is unknown' in run(*words, '--mean=100').stderr
