#!/usr/bin/python3
"""Makes what each fuzzer begins with, from files of ours: seeds.py SOURCE_TREE CORTADO OUT. OUT gets a folder for each
target.
"""
import glob, os, shutil, subprocess, sys, tempfile

tree, cortado, out = (os.path.abspath(word) for word in sys.argv[1:])
MOST = 200000


def take(target, content, name):
    os.makedirs(os.path.join(out, target), exist_ok=True)
    if len(content) <= MOST:
        with open(os.path.join(out, target, name), 'wb') as file:
            file.write(content)


def take_files(target, *patterns, before=b''):
    for pattern in patterns:
        for path in glob.glob(os.path.join(tree, pattern), recursive=True):
            if os.path.isfile(path):
                with open(path, 'rb') as file:
                    take(target, before + file.read(MOST + 1), path[len(tree) + 1:].replace('/', '_'))


def nets_and_solvers():
    for path in glob.glob(os.path.join(tree, '**/*.prototxt'), recursive=True):
        content = open(path, 'rb').read()
        name = path[len(tree) + 1:].replace('/', '_')
        is_solver = b'base_lr' in content
        take('solver_text' if is_solver else 'net_text', content, name)
        if not is_solver and len(content) < 3000:
            take('net_run', content, name)
            take('override_text', b'net.layer[0].name=x\0' + content, name)
    text = open(os.path.join(tree, 'docs/layers.md')).read()
    for number, example in enumerate(text.split('```')[1::2]):
        take('net_run', example.split('\n', 1)[1].encode() if '\n' in example else b'', 'layer_%d' % number)


def run(*words, **options):
    subprocess.run([cortado, *words], check=True, capture_output=True, **options)


NET = '''name: "seed"
layer { name: "data" type: "DummyData" top: "data" top: "t" dummy_data_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 }
  shape { dim: 2 dim: 2 } data_filler { type: "gaussian" } data_filler { type: "gaussian" } } }
layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 2 kernel_size: 3 } }
layer { name: "bn" type: "BatchNorm" bottom: "c" top: "bn" }
layer { name: "ip" type: "InnerProduct" bottom: "bn" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "t" top: "loss" }
'''
SOLVER = '''net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 max_iter: 4 display: 1
snapshot: 2 snapshot_prefix: "s"
'''


def binaries():
    with tempfile.TemporaryDirectory() as place:
        open(os.path.join(place, 'net.prototxt'), 'w').write(NET)
        open(os.path.join(place, 'solver.prototxt'), 'w').write(SOLVER)
        run('train', 'solver.prototxt', '--run=run', cwd=place)
        snapshots = os.path.join(place, 'run/snapshots/')
        for to in ('w.safetensors', 'w.npz'):
            run('convert', 'weights', snapshots + 's_iter_4.caffemodel', to, cwd=place)
        for path in (snapshots + 's_iter_4.caffemodel', place + '/w.safetensors', place + '/w.npz'):
            take('weights', open(path, 'rb').read(), os.path.basename(path))
        take('binary_net', open(snapshots + 's_iter_4.caffemodel', 'rb').read(), 'net')
        take('solver_state', open(snapshots + 's_iter_4.solverstate', 'rb').read(), 'state')
        for path in glob.glob(place + '/run/metrics.jsonl') + glob.glob(place + '/run/run.json') + glob.glob(
                place + '/run/tb/*'):
            take('runs', open(path, 'rb').read(), os.path.basename(path))
        images(place)


def images(place):
    os.makedirs(place + '/photos/a')
    for number, (w, h) in enumerate(((7, 5), (16, 16), (33, 20))):
        ppm = b'P6 %d %d 255\n' % (w, h) + bytes((x * y * 7) % 256 for x in range(w * 3) for y in range(h))
        path = place + '/photos/a/%d.ppm' % number
        open(path, 'wb').write(ppm)
        take('image', b'\0\20\20\60' + ppm, 'ppm_%d' % number)
    run('convert', 'folder', 'photos', '-o', 'raw', cwd=place)
    run('convert', 'folder', 'photos', '-o', 'jpegs', '--encoded', '--encode-type=jpg', cwd=place)
    for name in ('raw', 'jpegs'):
        content = open(place + '/%s/data.mdb' % name, 'rb').read()
        take('lmdb', content, name)
        at = content.find(b'\xff\xd8\xff')
        if at >= 0:
            end = content.find(b'\xff\xd9', at) + 2
            take('image', b'\1\20\20\60' + content[at:end], 'jpeg')
            take('datum', b'\x08\x03\x10\x05\x18\x07\x22' + bytes([(end - at) & 127 | 128, (end - at) >> 7]) +
                 content[at:end] + b'\x28\x01\x38\x01', 'encoded')
    take('datum', b'\x08\x01\x10\x02\x18\x02\x22\x04abcd\x28\x03', 'bytes')
    take('datum', b'\x08\x01\x10\x01\x18\x02\x28\x03\x35\0\0\x80\x3f\x35\0\0\0\x40', 'floats')


def texts():
    take('lists', b'a.jpg 0\nb c.jpg 12\n', 'images')
    take('lists', b'a.jpg 0 1 2\n', 'labels')
    take('lists', b'# 0\na.jpg\n3\n10\n12\n2\n1 0.7 0 0 5 5\n2 0.1 1 1 3 3\n', 'windows')
    take('lists', b'\x93NUMPY\x01\0v\0' + b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }".ljust(117) +
         b'\n' + b'\0' * 12, 'npy')
    take('annotations', b'<annotation><size><width>4</width><height>5</height></size><object><name>cat</name>'
         b'<difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object>'
         b'</annotation>', 'voc')
    take('annotations', b'{"images":[{"id":1,"file_name":"a.jpg","height":4,"width":5}],"annotations":[{"image_id":1,'
         b'"category_id":2,"bbox":[0,1,2,3],"iscrowd":0}],"categories":[{"id":2,"name":"cat"}]}', 'coco')
    take('annotations', b'1 0 0 5 5\n2 1 1 3 3\n', 'lines')


shutil.rmtree(out, ignore_errors=True)
nets_and_solvers()
binaries()
texts()
for target in sorted(os.listdir(out)):
    print('%s: %d seeds' % (target, len(os.listdir(os.path.join(out, target)))))
