#!/usr/bin/python3
"""The scores of `classify` are those that the net's test has for the same images: size, crop, mean and scale are the
data layer's, whether it reads an LMDB made of the images or the images themselves.

    classify_like.py CORTADO
"""
import glob, json, math, os, random, shutil, struct, subprocess, sys, tempfile, zlib

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


def run(code, *words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr[-2000:])
    return done

def png(path, height, width, pixel):
    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + bytes(c for x in range(width) for c in pixel()) for y in range(height))
    with open(path, 'wb') as f:
        f.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)) +
                chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))

def ppm(path, height, width, pixel):
    with open(path, 'wb') as f:
        f.write(b'P6\n%d %d\n255\n' % (width, height) + bytes(c for i in range(height * width) for c in pixel()))

def make_images(write, ending):
    draw = random.Random(5)
    for k, name in enumerate(CLASSES):
        os.makedirs('photos/' + name)
        for i in range(EACH):
            low, high = [(0, 120), (60, 250), (30, 200)][k]
            pixel = lambda: [min(255, draw.randrange(low, high) + 10 * k * c) for c in range(3)]
            write('photos/%s/%d%s' % (name, i, ending), 20 + i % 4, 24 - i % 3, pixel)

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

def tested(exe, net, weights):
    return json.loads(run(0, exe, 'test', '--model=' + net, '--weights=' + weights, '--iterations=1', '--json').stdout)

def main():
    exe = os.path.abspath(sys.argv[1])
    reads_png = os.path.exists(os.path.join(os.path.dirname(exe), 'libcortado_opencv.so'))
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    ending = '.png' if reads_png else '.ppm'
    make_images(png if reads_png else ppm, ending)
    os.mkdir('set')
    run(0, exe, 'convert', 'folder', 'photos', '-o', 'set/train_lmdb', '--resize-height=20', '--resize-width=22')
    run(0, exe, 'mean', 'set/train_lmdb', '-o', 'set/mean.npy')
    images = sorted(glob.glob('photos/*/*'))
    with open('list.txt', 'w') as f:
        for path in images: f.write('%s %d\n' % (path, CLASSES.index(path.split('/')[1])))

    for name, layers in (('lmdb', [DATA % ('TRAIN', 'set/mean.npy'),
                                   (DATA % ('TEST', 'set/mean.npy')).replace('mirror: true', '')]),
                         ('list', [IMAGE_DATA % phase for phase in ('TRAIN', 'TEST')])):
        os.mkdir(name)
        net, deploy = name + '/train_val.prototxt', name + '/deploy.prototxt'
        open(net, 'w').write(NET % '\n'.join(layers))
        open(name + '/solver.prototxt', 'w').write(SOLVER % (net, name + '/snap'))
        run(0, exe, 'train', '--solver=' + name + '/solver.prototxt')
        weights = name + '/snap_iter_30.caffemodel'
        run(0, exe, 'deploy', net, '-o', deploy)  # the shape is the dataset's
        run(0, exe, 'features', weights, net, '--blob=ip', '-o', name + '/ip.npy', '--batches=1')
        rows = [softmax(row) for row in npy_rows(name + '/ip.npy')]
        words = [exe, 'classify', '--model=' + deploy, '--weights=' + weights, '--json', '--top=3']
        done = run(0, *words, '--like=' + net, 'photos')
        found = classified(done)
        assert sorted(found) == images, found
        if name == 'list':
            for path, row in zip(images, rows): assert close(found[path], row), (path, found[path], row)
        else:
            for a, b in zip(sorted(found.values()), sorted(rows)): assert close(a, b), (a, b)
        report = tested(exe, net, weights)
        accuracy = accuracy_of(found)
        assert abs(accuracy - report['outputs']['accuracy']) < 1e-6, (accuracy, report)
        loss = sum(-math.log(row[CLASSES.index(image.split('/')[1])]) for image, row in found.items()) / len(found)
        assert abs(loss - report['outputs']['loss']) < 1e-4 * max(1, loss), (loss, report)

        by_itself = run(0, *words, 'photos/dark', 'photos/[lm]*/*' + ending)
        assert classified(by_itself) == found
        assert 'prepared as in %s' % net in by_itself.stderr, by_itself.stderr
        if name == 'lmdb':  # names lie beside the dataset
            assert json.loads(by_itself.stdout.splitlines()[0])['top'][0]['name'] in CLASSES
        run(0, exe, 'convert', 'weights', weights, name + '/w.npz')
        arrays = [word.replace(weights, name + '/w.npz') for word in words]
        assert classified(run(0, *arrays, 'photos')) == found
        plain = run(0, *words, 'photos', '--like=none')
        assert 'prepared' not in plain.stderr and not close(classified(plain)[images[0]], found[images[0]])
        scaled = run(0, *words, 'photos', '--scale=0.001', '--mean=50')
        assert 'minus 50' in scaled.stderr and 'times 0.001' in scaled.stderr, scaled.stderr
        print('%s: accuracy %g, loss %g, both ways' % (name, accuracy, loss))

    # Without the dataset the mean image tells the size; without either, the mean has to be told.
    found = classified(run(0, exe, 'classify', '--model=lmdb/deploy.prototxt', '--weights=lmdb/snap_iter_30.caffemodel',
                           '--json', '--top=3', 'photos'))
    shutil.move('set/train_lmdb', 'set/gone')
    words = [exe, 'classify', '--model=lmdb/deploy.prototxt', '--weights=lmdb/snap_iter_30.caffemodel', '--json',
             '--top=3', 'photos']
    assert classified(run(0, *words)) == found
    os.remove('set/mean.npy')
    assert 'lmdb/train_val.prototxt:' in run(5, *words).stderr
    assert 'does not exist, so the size of its images is not known' in run(0, *words, '--mean=100').stderr


main()
