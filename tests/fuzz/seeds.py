#!/usr/bin/python3
"""Writes the seeds of each fuzzer from files of the repository: seeds.py SOURCE_TREE CORTADO OUT.

OUT has a folder for each target.
"""
import glob, gzip, io, json, lzma, os, re, shutil, struct, subprocess, sys, tarfile, tempfile, zipfile

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


def words():
    """Writes libFuzzer's dictionary: fields, enum values and layer types of prototxts."""
    text = open(os.path.join(tree, 'proto/cortado.proto')).read()
    found = set(re.findall(r'^ *(?:optional|required|repeated) +\S+ +(\w+) *=', text, re.M))
    found |= set(re.findall(r'^ *([A-Z][A-Z0-9_]+) *= *\d+;', text, re.M))
    listed = subprocess.run([cortado, 'layers'], capture_output=True, text=True, check=True).stdout
    found |= set(re.findall(r'^ *([A-Z]\w+)', listed, re.M))
    with open(os.path.join(out, 'words.dict'), 'w') as file:
        file.writelines('"%s"\n' % word for word in sorted(found))


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
        os.environ['XDG_CACHE_HOME'] = place + '/cache'
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
        archives(place)
        more_binaries(place, snapshots)


def more_binaries(place, snapshots):
    """Seeds of targets that read the same files."""
    weights = open(snapshots + 's_iter_4.caffemodel', 'rb').read()
    take('resume', open(snapshots + 's_iter_4.solverstate', 'rb').read(), 'state')
    run('convert', 'weights', snapshots + 's_iter_4.caffemodel', 'w.h5', cwd=place)
    take('hdf5', open(place + '/w.h5', 'rb').read(), 'weights')
    for path in glob.glob(os.path.join(out, 'weights/*')):
        take('load_weights', open(path, 'rb').read(), os.path.basename(path))
    deploy = NET.replace('DummyData" top: "data" top: "t"', 'Input" top: "data"').split('dummy_data_param')[0] + (
        'input_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 } } }\n' + NET[NET.index('layer { name: "c"'):].split(
            'layer { name: "loss"')[0])
    open(place + '/deploy.prototxt', 'w').write(deploy)
    open(place + '/w.caffemodel', 'wb').write(weights)
    run('convert', 'onnx', 'deploy.prototxt', '--weights=w.caffemodel', '-o', 'small.onnx', cwd=place)
    take('onnx_model', open(place + '/small.onnx', 'rb').read(), 'small')
    record = open(place + '/run/run.json', 'rb').read()
    take('run_flags', record, 'record')
    every = json.loads(record)
    every['flags'] = {'threads': ['2'], 'seed': ['7'], 'set': ['solver.max_iter=4'], 'deterministic': ['true'],
                      'metrics': ['m.jsonl'], 'snapshot-keep': ['3'], 'level': ['1'], 'stage': ['a,b']}
    take('run_flags', json.dumps(every).encode(), 'flags')
    for name in ('layers.jsonl', 'metrics.jsonl'):
        path = place + '/run/' + name
        if os.path.exists(path): take('runs', open(path, 'rb').read(), name)
    choices, = json.load(open(place + '/cache/cortado/choices.json')).values()
    take('choices', json.dumps({'machine': choices}).encode(), 'measured')


def onnx_graphs():
    """Models of the tests' operators; none without Python's onnx."""
    sys.path.insert(0, tree)
    try: from tests.onnx.random_graphs import RandomGraph
    except BaseException as error:  # Skipped, of pytest, does not derive from Exception
        print('no ONNX graphs: %s' % error)
        return
    for number in range(200):
        graph = RandomGraph(number, most_nodes=4)
        if graph.nodes: take('onnx_model', graph.model(graph.outputs).SerializeToString(), 'graph_%d' % number)


def requests():
    body = (b'{"id":"1","parameters":{"binary_data_output":true},"inputs":[{"name":"x","shape":[1,3,2,2],'
            b'"datatype":"FP32","data":[1,2,3,4,5,6,7,8,9,10,11,12]},{"name":"z","shape":[1,4],"datatype":"FP32",'
            b'"data":[[1,2,3,4]]}],'
            b'"outputs":[{"name":"y","parameters":{"binary_data":false}}]}')
    take('serve_json', body, 'json')
    head = (b'{"inputs":[{"name":"z","shape":[1,4],"datatype":"FP32","parameters":{"binary_data_size":16}}]}')
    take('serve_json', b'%d\0' % len(head) + head + bytes(16), 'binary')
    take('http_head', b'POST /v2/models/lenet/versions/1/infer?a=b&c HTTP/1.1\r\nHost: a\r\n'
         b'Content-Length: 2\r\n\r\n{}', 'post')
    take('http_head', b'GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
         'chunks')
    tensor = b'\x0a\x01z\x12\x04FP32\x1a\x02\x01\x04'
    take('serve_grpc', b'\x0a\x05model\x2a' + bytes([len(tensor)]) + tensor + b'\x3a\x10' + bytes(16), 'raw')
    contents = b'\x2a\x12\x32\x10' + bytes(16)
    take('serve_grpc', b'\x0a\x05model\x2a' + bytes([len(tensor) + len(contents)]) + tensor + contents, 'listed')


def archives(place):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode='w') as tar:
        for path in sorted(glob.glob(place + '/photos/a/*.ppm')):
            tar.add(path, os.path.basename(path))
            info = tarfile.TarInfo(os.path.basename(path)[:-4] + '.cls')
            info.size = 1
            tar.addfile(info, io.BytesIO(b'1'))
    tar = made.getvalue()
    take('archive', tar, 'tar')
    take('archive', gzip.compress(tar), 'gz')
    take('archive', lzma.compress(tar), 'xz')
    frame = bytes.fromhex('28b52ffd') + bytes([0xA0]) + struct.pack('<I', len(tar))  # zstd, with raw blocks
    for at in range(0, len(tar), 60000):
        piece = tar[at:at + 60000]
        frame += struct.pack('<I', len(piece) << 3 | (at + 60000 >= len(tar)))[:3] + piece
    take('archive', frame, 'zst')
    methods = {'stored': zipfile.ZIP_STORED, 'deflated': zipfile.ZIP_DEFLATED, 'lzma': zipfile.ZIP_LZMA}
    for name, method in methods.items():
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, 'w', method) as archive:
            for path in sorted(glob.glob(place + '/photos/a/*.ppm')): archive.write(path, os.path.basename(path))
        take('archive', packed.getvalue(), 'zip_' + name)
    take('archive', b'path,label\na.jpg,"x ""y"""\n', 'table')
    take('convert', b'\x03' + tar, 'tar')
    images = struct.pack('>IIII', 0x803, 2, 3, 3) + bytes(range(18))
    labels = struct.pack('>II', 0x801, 2) + bytes([1, 0])
    take('convert', b'\0' + images + labels.ljust(len(images), b'\0'), 'idx')
    take('convert', b'\1' + bytes(3073), 'cifar')
    take('convert', b'\2label,p0,p1,p2,p3\n1,0,1,2,3\n0,3,2,1,0\n', 'csv')


def transforms():
    record = b'\x08\x03\x10\x08\x18\x08\x22\xc0\x01' + bytes(range(192)) + b'\x28\x03'
    for number, text in enumerate((
            b'crop_size: 4 mirror: true scale: 0.5 mean_value: 3', b'augment { rotation { low: -10 high: 10 } }',
            b'resize_param { prob: 1 resize_mode: WARP height: 5 width: 6 } distort_param { brightness_prob: 0.5 '
            b'brightness_delta: 32 } expand_param { prob: 0.5 max_expand_ratio: 2 }')):
        take('augment', text + b'\0' + record, str(number))
    for path in glob.glob(os.path.join(tree, '**/*.md'), recursive=True) + glob.glob(
            os.path.join(tree, '**/*.prototxt'), recursive=True):
        text = open(path).read()
        kinds = r'\b(transform_param|augment|expand_param|distort_param) *\{'
        for number, found in enumerate(re.finditer(kinds, text)):
            inner = until_closed(text[found.end():])
            whole = inner if found[1] == 'transform_param' else '%s { %s }' % (found[1], inner)
            take('augment', whole.encode() + b'\0' + record, '%s_%d' % (os.path.basename(path), number))


def until_closed(text):
    depth = 1
    for at, letter in enumerate(text):
        depth += (letter == '{') - (letter == '}')
        if depth == 0: return text[:at]
    return ''


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
    parts = [(6, struct.pack('<II', 7, 0)), (5, struct.pack('<ii', 2, 3)), (1, b'label'),
             (7, struct.pack('<6f', *range(6)))]
    inner = b''.join(struct.pack('<II', kind, len(content)) + content + bytes(-len(content) % 8)
                     for kind, content in parts)
    head = b'MATLAB 5.0 MAT-file'.ljust(124) + struct.pack('<H2s', 0x100, b'IM')
    take('lists', head + struct.pack('<II', 14, len(inner)) + inner, 'mat')
    take('annotations', b'<annotation><size><width>4</width><height>5</height></size><object><name>cat</name>'
         b'<difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object>'
         b'</annotation>', 'voc')
    take('annotations', b'{"images":[{"id":1,"file_name":"a.jpg","height":4,"width":5}],"annotations":[{"image_id":1,'
         b'"category_id":2,"bbox":[0,1,2,3],"iscrowd":0}],"categories":[{"id":2,"name":"cat"}]}', 'coco')
    take('annotations', b'1 0 0 5 5\n2 1 1 3 3\n', 'lines')
    take('shape_text', b'1,3,224,224', 'one')
    take('shape_text', b'data=1x3x8x8\na=b=2,4', 'named')
    take('label_map', b'item { name: "none" label: 0 display_name: "background" }\n'
         b'item { name: "1" label: 1 display_name: "cat" }\n', 'classes')
    take('label_map', b'item { name: "road" label_id: 7 label: 0 }\nitem { name: "x" label_id: 8 label: 255 }\n',
         'pixels')
    take('label_map', b'cat\r\ndog\n', 'names')
    for kind in range(4):
        for order, mark in (('<', b'II'), ('>', b'MM')):
            tiff = mark + struct.pack(order + 'HIHHHIHHI', 42, 8, 1, 0x0112, 3, 1, 6, 0, 0)
            take('exif', bytes([kind]) + tiff, '%d_%s' % (kind, mark.decode()))
    take('studio_json', b'a%20b\0{"path": "runs/r", "number": 7, "on": true, "names": ["a", "b"], "none": null}',
         'body')
    take('studio_json', b'1,2,3\0{}', 'numbers')
    take('serve_json', b'{"ready": true}', 'index')
    take('serve_json', b'{"parameters": {"config": "{}", "unload_dependents": false}}', 'load')


shutil.rmtree(out, ignore_errors=True)
nets_and_solvers()
words()
binaries()
texts()
requests()
transforms()
onnx_graphs()
for target in sorted(set(os.listdir(out)) - {'words.dict'}):
    print('%s: %d seeds' % (target, len(os.listdir(os.path.join(out, target)))))
