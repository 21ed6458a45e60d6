"""The folders in which the commands of pages for beginners run, and checks of their results.

Functions that create a folder take (folder, program, blocks); `blocks` are the page's fenced blocks as (language,
lines). Checks take (folder, what that function returned)."""
import os, re, shutil, subprocess, sys, unittest.mock

from tests.cli import fixtures

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def like_clone(folder, exe, blocks):
    """Links to the sources; the tour writes its files next to them."""
    for name in os.listdir(ROOT):
        if not name.startswith('build') and name not in ('data_sets', 'snapshots', '.git'):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    os.mkdir(folder + '/build')
    os.symlink(os.path.dirname(exe), folder + '/build/bin')

OLD_NET = '''name: "OldNet"
layers { name: "data" type: DATA top: "data" top: "label" include { phase: TRAIN }
  data_param { source: "train_leveldb" batch_size: 10 scale: 0.00390625 } }
layers { name: "data" type: DATA top: "data" top: "label" include { phase: TEST }
  data_param { source: "test_leveldb" batch_size: 10 scale: 0.00390625 } }
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1"
  blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
  convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers { name: "ip1" type: INNER_PRODUCT bottom: "conv1" top: "ip1" blobs_lr: 1 blobs_lr: 2
  inner_product_param { num_output: 64 weight_filler { type: "xavier" } } }
layers { name: "accuracy" type: ACCURACY bottom: "ip1" bottom: "label" top: "accuracy" include { phase: TEST } }
layers { name: "loss" type: SOFTMAX_LOSS bottom: "ip1" bottom: "label" }
'''
OLD_SOLVER = '''net: "train_val.prototxt"
base_lr: 0.01
momentum: 0.9
lr_policy: "fixed"
max_iter: 40
display: 20
test_iter: 6
test_interval: 20
snapshot: 20
snapshot_prefix: "snapshots/old"
solver_mode: GPU
solver_type: SGD
'''

def old_project(folder, exe, blocks):
    for name in ('train_leveldb', 'test_leveldb'):
        shutil.copytree(ROOT + '/tests/data/leveldb', os.path.join(folder, name))
    os.mkdir(folder + '/snapshots')
    fixtures.write(folder + '/train_val.prototxt', OLD_NET.encode())
    fixtures.write(folder + '/solver.prototxt', OLD_SOLVER.encode())

def photographs(folder, exe, blocks):
    """Images of colored shapes on noise, in several sizes: disc, ring and square are flowers, bars are trees."""
    import cv2, numpy
    draw = numpy.random.default_rng(1)
    def shape(image, kind, centre, color):
        x, y, r = *centre, 22
        if kind in ('daisy', 'rose'): cv2.circle(image, (x, y), r, color, -1 if kind == 'rose' else 5)
        if kind == 'tulip': cv2.rectangle(image, (x - r, y - r), (x + r, y + r), color, -1)
        if kind == 'birch': cv2.line(image, (x, y - 30), (x, y + 30), color, 12)
        if kind == 'oak': cv2.line(image, (x - 30, y), (x + 30, y), color, 12)
    for kind in ('daisy', 'rose', 'tulip', 'birch', 'oak'):
        where = '%s/%s/%s' % (folder, 'more_photos' if kind in ('birch', 'oak') else 'photos', kind)
        os.makedirs(where)
        for i in range(40):
            h, w = draw.integers(90, 120, 2)
            image = draw.integers(60, 100, (h, w, 3)).astype('uint8')
            shape(image, kind, (int(w // 2 + draw.integers(-8, 9)), int(h // 2 + draw.integers(-8, 9))),
                  [int(c) for c in draw.integers(170, 255, 3)])
            cv2.imwrite('%s/%04d.jpg' % (where, i + 1), image)

def empty_folder(folder, exe, blocks):
    pass

SMALL_NET = '''name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { mirror: true mean_value: 104 mean_value: 117 mean_value: 123 scale: 0.02 }
  data_param { source: "photos_lmdb/train_lmdb" batch_size: 8 backend: LMDB } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  transform_param { mean_value: 104 mean_value: 117 mean_value: 123 scale: 0.02 }
  data_param { source: "photos_lmdb/test_lmdb" batch_size: 4 backend: LMDB } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 16 kernel_size: 3 stride: 2 bias_term: false weight_filler { type: "msra" } } }
layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "conv1" }
layer { name: "scale1" type: "Scale" bottom: "conv1" top: "conv1" scale_param { bias_term: true } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
  convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: "msra" } } }
layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
layer { name: "pool5" type: "Pooling" bottom: "conv2" top: "pool5" pooling_param { pool: AVE global_pooling: true } }
layer { name: "fc" type: "InnerProduct" bottom: "pool5" top: "fc"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "fc" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
'''
SMALL_SOLVER = '''net: "train_val.prototxt"
base_lr: 0.02
momentum: 0.9
lr_policy: "fixed"
max_iter: 40
display: 20
snapshot: 20
snapshot_prefix: "snapshots/small"
random_seed: 1
'''

def trained_project(folder, exe, blocks):
    """A net with its solver, dataset, images, weights (net.caffemodel) and run (runs/first)."""
    import cv2, numpy
    def call(*words): subprocess.run(['cortado', *words], cwd=folder, check=True)
    photographs(folder, exe, blocks)
    for i, name in enumerate(('cat', 'dog')):
        shutil.copy('%s/photos/rose/%04d.jpg' % (folder, i + 1), '%s/%s.jpg' % (folder, name))
    os.mkdir(folder + '/more')
    cv2.imwrite(folder + '/more/cat.png', cv2.imread(folder + '/cat.jpg'))
    call('convert', 'folder', 'photos', '-o', 'photos_lmdb', '--split=0.2', '--resize-height=32',
         '--resize-width=32', '--quiet')
    shutil.copy(folder + '/photos_lmdb/labels.txt', folder)
    fixtures.write(folder + '/train_val.prototxt', SMALL_NET.encode())
    fixtures.write(folder + '/solver.prototxt', SMALL_SOLVER.encode())
    os.makedirs(folder + '/snapshots')
    call('train', 'solver.prototxt', '--run=runs/first', '--quiet')
    shutil.copy(folder + '/runs/first/snapshots/small_iter_40.caffemodel', folder + '/net.caffemodel')
    numpy.save(folder + '/x.npy', numpy.random.default_rng(1).normal(0, 1, (2, 3, 32, 32)).astype('f4'))

def fits_line(folder, made):
    """The page's loss is robust against outliers."""
    import numpy
    line = [blob for name, blob in sorted(numpy.load(folder + '/fit.npz').items()) if name.startswith('line')]
    assert abs(line[0].ravel() - 3) < 0.3 and abs(line[1] - 1) < 0.3, line

def torch_weights(folder, exe, blocks):
    """Runs the page's Python program with NumPy in place of PyTorch."""
    import json, numpy, struct, types
    class Tensor(numpy.ndarray):
        def contiguous(self): return self
    draw = numpy.random.default_rng(1)
    tensor = lambda *shape: draw.uniform(0.1, 0.5, shape).astype('f4').view(Tensor)
    state = {'0.weight': tensor(16, 1, 3, 3), '4.weight': tensor(32, 16, 3, 3), '9.weight': tensor(10, 32 * 7 * 7),
             '9.bias': tensor(10)}
    for i, n in ((1, 16), (5, 32)):
        for name in ('running_mean', 'running_var', 'weight', 'bias'): state['%d.%s' % (i, name)] = tensor(n)
    def save_file(blobs, path):
        head, data = {}, b''
        for name, blob in blobs.items():
            head[name] = dict(dtype='F32', shape=blob.shape, data_offsets=[len(data), len(data) + blob.nbytes])
            data += blob.tobytes()
        text = json.dumps(head).encode()
        fixtures.write(path, struct.pack('<Q', len(text)) + text + data)
    program = next(text for language, text in blocks if language == 'python' and 'import' in text[0])
    here, modules = os.getcwd(), {'safetensors': types.ModuleType('safetensors'),
                                  'safetensors.torch': types.SimpleNamespace(save_file=save_file)}
    os.chdir(folder)
    with unittest.mock.patch.dict(sys.modules, modules):
        ones = lambda n: numpy.ones(n, 'f4').view(Tensor)
        exec('\n'.join(program), dict(model=types.SimpleNamespace(state_dict=lambda: state),
                                      torch=types.SimpleNamespace(ones=ones)))
    os.chdir(here)
    return state

def like_torch(folder, state):
    """The net's outputs with these weights equal those of PyTorch's layers, computed with NumPy."""
    import numpy
    x = numpy.random.default_rng(2).uniform(0, 1, (2, 1, 28, 28)).astype('f4')
    numpy.save(folder + '/probe.npy', x)
    subprocess.run(['cortado', 'infer', '--model=deploy.prototxt', '--weights=from_torch.safetensors',
                    '--input', 'data=probe.npy', '--output', 'fc=fc.npy'], cwd=folder, check=True)
    for conv, norm in ((0, 1), (4, 5)):
        w, side = state['%d.weight' % conv].astype('f8'), x.shape[2]
        padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        x = sum(numpy.einsum('nchw,oc->nohw', padded[:, :, i:i + side, j:j + side], w[:, :, i, j])
                for i in range(3) for j in range(3))
        mean, var, scale, bias = [state['%d.%s' % (norm, name)].reshape(1, -1, 1, 1)
                                  for name in ('running_mean', 'running_var', 'weight', 'bias')]
        x = numpy.maximum((x - mean) / numpy.sqrt(var + 1e-5) * scale + bias, 0)
        x = x.reshape(*x.shape[:2], side // 2, 2, side // 2, 2).max((3, 5))
    expected = x.reshape(len(x), -1) @ state['9.weight'].T + state['9.bias']
    assert numpy.allclose(numpy.load(folder + '/fc.npy'), expected, rtol=1e-3), 'weights from PyTorch'

def good_classifier(folder, made):
    """The page's classifier has learned its classes."""
    import json
    text = open(folder + '/answers.jsonl').read()
    answers = [json.loads(line) for line in text.splitlines()]
    right = sum(answer['top'][0]['name'] == 'rose' for answer in answers)
    # The choice of kernels depends on times, so results vary a little. An untrained net would get 13 of 40 right.
    assert len(answers) == 40 and right >= 28, '%d of %d are roses' % (right, len(answers))

def draws_detections(folder, made):
    """The picture with boxes exists and is larger than its source."""
    import cv2
    small = cv2.imread(folder + '/data_sets/detection/images/test_00000.png')
    drawn, sheet = cv2.imread(folder + '/found/test_00000.png'), cv2.imread(folder + '/sheet.png')
    assert drawn.shape[0] >= 2 * small.shape[0], drawn.shape
    assert (abs(sheet.astype(int) - (0, 220, 255)).sum(2) < 30).sum() > 200, 'no boxes in the sheet'

def decodes_digits(folder, made):
    """There are a row of digits for each strip, filled up with -1, and a picture of strips."""
    import cv2, numpy
    rows = numpy.load(folder + '/digits.npy')
    assert rows.shape == (8, 40), rows.shape
    for row in rows:
        count = (row >= 0).sum()
        assert row.max() < 10 and (row[count:] == -1).all(), row
    assert cv2.imread(folder + '/data_sets/digits/sheet.png').shape[1] == 2 * 3 * 162

def deployed_project(folder, exe, blocks):
    """A project with its deploy net."""
    trained_project(folder, exe, blocks)
    subprocess.run(['cortado', 'deploy', 'train_val.prototxt', '-o', 'deploy.prototxt'], cwd=folder, check=True)

def project_with_models(folder, exe, blocks):
    """A deployed project and two ONNX models: model.onnx, and open.onnx of any image size."""
    import numpy, pytest
    onnx = pytest.importorskip('onnx')
    tensors = pytest.importorskip('onnx.numpy_helper')
    deployed_project(folder, exe, blocks)
    helper, filters = onnx.helper, numpy.random.default_rng(1).normal(0, 1, (4, 3, 3, 3)).astype('f4')
    for name, h, w in (('model', 32, 32), ('open', 'h', 'w')):
        x = helper.make_tensor_value_info('x', 1, ['n', 3, h, w])
        y = helper.make_tensor_value_info('y', 1, ['n', 4, None, None])
        graph = helper.make_graph([helper.make_node('Conv', ['x', 'filters'], ['y'], name='conv')], name, [x], [y],
                                  [tensors.from_array(filters, 'filters')])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)]), '%s/%s.onnx' % (folder, name))

def trained_ssd(folder):
    """ssd/deploy.prototxt and ssd/net.caffemodel, trained for one epoch on a few images with boxes."""
    def cortado(*words): subprocess.run(['cortado', *words], cwd=folder, check=True)
    lines = ''
    for i in range(8):
        name = 'boxes/%d' % i
        fixtures.ppm('%s/%s.ppm' % (folder, name), h=40, w=60, color=(30 * i, 90, 150))
        box = '<xmin>%d</xmin><ymin>5</ymin><xmax>%d</xmax><ymax>30</ymax>' % (5 + 4 * i, 24 + 4 * i)
        fixtures.write('%s/%s.xml' % (folder, name), (
            '<annotation><size><width>60</width><height>40</height></size><object><name>%s</name><bndbox>%s</bndbox>'
            '</object></annotation>' % (('bar', 'disc', 'cross')[i % 3], box)).encode())
        lines += '%s.ppm %s.xml\n' % (name, name)
    fixtures.write(folder + '/boxes.txt', lines.encode())
    for part in 'train', 'test':
        cortado('convert', 'annoset', './', 'boxes.txt', '-o', 'sets/%s_lmdb' % part, '--encoded')
    cortado('new', 'detector', '--data=sets', '-o', 'ssd', '--epochs=1', '--batch=4',
            '--from=%s/models/ssd_fashion/train_val.prototxt' % ROOT)
    cortado('train', 'ssd/solver.prototxt', '--quiet')
    shutil.move(folder + '/ssd/snapshots/ssd_iter_2.caffemodel', folder + '/ssd/net.caffemodel')

def project_for_opencv(folder, exe, blocks):
    """A deployed project, an SSD, and an input for each."""
    import numpy, pytest
    pytest.importorskip('cv2')
    deployed_project(folder, exe, blocks)
    trained_ssd(folder)
    for net, name in (('deploy', 'x'), ('ssd/deploy', 'image')):
        text = open('%s/%s.prototxt' % (folder, net)).read()
        shape = re.findall(r'dim: (\d+)', text.split('input_param')[1].split('}')[0])
        image = numpy.random.default_rng(1).normal(0, 1, [1] + [int(n) for n in shape[-3:]])
        numpy.save('%s/%s.npy' % (folder, name), image.astype('f4'))

def short_lenet(folder, exe, blocks):
    """What the quick start makes, with small datasets and a solver of few iterations: models/lenet, data_sets/."""
    shutil.copytree(ROOT + '/models/lenet', folder + '/models/lenet')
    solver = open(folder + '/models/lenet/solver.prototxt').read()
    for name, value in (('max_iter', 40), ('snapshot', 20), ('test_iter', 2), ('test_interval', 20), ('display', 20)):
        solver = re.sub(r'^%s: \d+' % name, '%s: %d' % (name, value), solver, flags=re.M)
    fixtures.write(folder + '/models/lenet/solver.prototxt', solver.encode())
    for name in ('data_sets', 'snapshots'): os.mkdir('%s/%s' % (folder, name))
    for part, count in (('train', 640), ('test', 200)):
        fixtures.idx(folder + '/images', folder + '/labels', n=count, h=28, w=28, classes=10)
        made = 'data_sets/fashion_mnist_%s_lmdb' % part
        subprocess.run(['cortado', 'convert', 'idx', 'images', 'labels', '-o', made], cwd=folder, check=True)
    fixtures.pgm(folder + '/data_sets/boot.pgm', 28, 28)

def trained_lenet(folder, exe, blocks):
    """short_lenet() after its training, and a certificate for the host of the page."""
    short_lenet(folder, exe, blocks)
    subprocess.run(['cortado', 'train', 'models/lenet/solver.prototxt', '--quiet'], cwd=folder, check=True)
    os.rename(folder + '/snapshots/lenet_iter_40.caffemodel', folder + '/snapshots/lenet_iter_6000.caffemodel')
    subprocess.run('openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem '
                   '-out chain.pem -days 2 -subj /CN=server.example -addext subjectAltName=DNS:server.example'.split(),
                   cwd=folder, check=True)

def studio_folder(folder, exe, blocks):
    """A project in work/, with its net and solver in the folder of a training."""
    project = os.path.join(folder, 'work')
    os.mkdir(project)
    trained_project(project, exe, blocks)
    training = project + '/trainings/first'
    os.makedirs(training)
    shutil.move(project + '/train_val.prototxt', training)
    solver = SMALL_SOLVER.replace('train_val', 'trainings/first/train_val')
    fixtures.write(training + '/solver.prototxt', solver.encode())
    shutil.rmtree(project + '/runs')

def project_without_dataset(folder, exe, blocks):
    trained_project(folder, exe, blocks)
    shutil.rmtree(folder + '/photos_lmdb')

def project_with_old_files(folder, exe, blocks):
    """A project with weights in NVIDIA's dialect and a net of 2013."""
    trained_project(folder, exe, blocks)
    subprocess.run(['cortado', 'convert', 'weights', 'net.caffemodel', 'nv.caffemodel', '--format=nvidia'], cwd=folder,
                   check=True)
    fixtures.write(folder + '/old_train_val.prototxt', OLD_NET.encode())

MADE_FIRST = {'tour': like_clone, 'from-caffe': old_project, 'from-pytorch': torch_weights,
              'own-images': photographs, 'detection': like_clone, 'reading': like_clone,
              'python-layers': empty_folder, 'inference': trained_project, 'weights': project_with_old_files,
              'quantization': deployed_project, 'scores': trained_project, 'cpu': trained_project,
              'gpu': trained_project, 'scaling': trained_project, 'onnx': project_with_models, 'runs': short_lenet,
              'classic-caffe': project_with_models,
              'from-opencv-dnn': project_for_opencv,
              'serving': trained_lenet, 'studio': studio_folder, 'data': project_without_dataset,
              'solvers': trained_project}
CHECKED_AFTER = {'detection': draws_detections, 'from-pytorch': like_torch, 'own-images': good_classifier,
                 'python-layers': fits_line, 'reading': decodes_digits}
