"""Small files for transcripts, valid or damaged. Standard library only."""
import ctypes, gzip, os, random, shutil, struct, subprocess


# Protobuf's wire format

def varint(n):
    out = b''
    n &= (1 << 64) - 1
    while n >= 128: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])

def field(number, value):
    """A length-delimited field from bytes or str, a varint from int."""
    if isinstance(value, int): return varint(number << 3) + varint(value)
    if isinstance(value, str): value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value

def blob(shape, values):
    dims = field(7, b''.join(field(1, extent) for extent in shape))
    return dims + field(5, struct.pack('<%df' % len(values), *values))

def layer_weights(name, kind, *blobs):
    return field(100, field(1, name) + field(2, kind) + b''.join(field(7, b) for b in blobs))

def caffemodel(path, *layers, name='net'):
    write(path, field(1, name) + b''.join(layers))


# Files

def write(path, data):
    with open(path, 'wb') as f: f.write(data)

def idx(images, labels, n=64, h=8, w=8, classes=4, seed=1):
    """Files of MNIST's format. The bright quarter of an image is its class, so that it can be learned."""
    draw = random.Random(seed)
    pixels, names = bytearray(), bytearray()
    for i in range(n):
        label = i % classes
        names.append(label)
        for y in range(h):
            for x in range(w):
                bright = (y * 2 // h) * 2 + x * 2 // w == label % 4
                pixels.append(min(255, 40 * bright * 4 + draw.randrange(60)))
    write(images, struct.pack('>iiii', 2051, n, h, w) + bytes(pixels))
    write(labels, struct.pack('>ii', 2049, n) + bytes(names))

def npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % ''.join('%d,' % d for d in shape)
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    data = struct.pack('<%df' % len(values), *values)
    write(path, b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data)

def ppm(path, h=8, w=8, color=(200, 100, 50)):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    write(path, b'P6\n%d %d\n255\n' % (w, h) + bytes(color) * (h * w))

def pgm(path, h=8, w=8, level=200):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    write(path, b'P5\n%d %d\n255\n' % (w, h) + bytes([level]) * (h * w))

def truncate(path, share=0.5):
    size = os.path.getsize(path)
    with open(path, 'r+b') as f: f.truncate(int(size * share))

def overwrite(path, offset, data):
    with open(path, 'r+b') as f:
        f.seek(offset)
        f.write(data)

def cortado(*words):
    subprocess.run(['cortado', *words], check=True, capture_output=True)

def lmdb(path, **options):
    """A dataset of gray images that can be learned; `options` are those of idx()."""
    idx('made.images', 'made.labels', **options)
    cortado('convert', 'idx', 'made.images', 'made.labels', '-o', path, '--force')

def raw_lmdb(path, records):
    """A dataset of any bytes, by liblmdb; `records`: {key: value}."""
    class Value(ctypes.Structure):
        _fields_ = [('size', ctypes.c_size_t), ('data', ctypes.c_char_p)]
    library = ctypes.CDLL('liblmdb.so.0')
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    environment, transaction, database = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
    def call(name, *arguments):
        if library[name](*arguments): raise OSError(name)
    call('mdb_env_create', ctypes.byref(environment))
    call('mdb_env_open', environment, path.encode(), 0, 0o644)
    call('mdb_txn_begin', environment, None, 0, ctypes.byref(transaction))
    call('mdb_dbi_open', transaction, None, 0, ctypes.byref(database))
    for key, value in records.items():
        key, value = [ctypes.byref(Value(len(b), b)) for b in (key.encode(), value)]
        call('mdb_put', transaction, database, key, value, 0)
    call('mdb_txn_commit', transaction)
    library.mdb_env_close(environment)

def read_lmdb(path):
    """[(key, value)] in key order, read from pages, branches, leaves and overflow pages."""
    data = open(path + '/data.mdb', 'rb').read()
    def number(at, size): return int.from_bytes(data[at:at + size], 'little')
    size = number(40, 4)
    meta = max((0, size), key=lambda at: number(at + 144, 8))
    def walk(page, levels):
        at = page * size
        for i in range((number(at + 12, 2) - 16) // 2):
            node = at + number(at + 16 + 2 * i, 2)
            key = data[node + 8:node + 8 + number(node + 6, 2)]
            if levels > 1:
                yield from walk(number(node, 6), levels - 1)
                continue
            length, value = number(node, 4), node + 8 + len(key)
            if number(node + 4, 2) & 1: value = number(value, 8) * size + 16
            yield key.decode(), data[value:value + length]
    return list(walk(number(meta + 128, 8), number(meta + 94, 2)))

def label_of(value):
    """The label of a Datum."""
    at = 0
    def take():
        nonlocal at
        n = shift = 0
        while True:
            n, at, shift = n | (value[at] & 127) << shift, at + 1, shift + 7
            if value[at - 1] < 128: return n
    while at < len(value):
        tag = take()
        if tag & 7 == 2:
            length = take()
            at += length
        elif tag == 5 << 3: return take()
        else: take()
    return 0

def datum(channels=1, height=8, width=8, data=None, label=0):
    if data is None: data = bytes(channels * height * width)
    return field(1, channels) + field(2, height) + field(3, width) + field(4, data) + field(5, label)

def mean_file(path, channels=1, height=8, width=8, value=10.0):
    count = channels * height * width
    write(path, field(1, 1) + field(2, channels) + field(3, height) + field(4, width) +
          field(5, struct.pack('<%df' % count, *[value] * count)))


# Texts

SMALL_NET = '''name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" %(transform)s
  data_param { source: "%(source)s" batch_size: %(batch)s backend: LMDB } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: %(outputs)s weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''

SMALL_SOLVER = '''net: "%(net)s"
base_lr: 0.01
momentum: 0.9
lr_policy: "fixed"
max_iter: %(iters)s
display: 10
random_seed: 3
solver_mode: CPU
snapshot_prefix: "%(prefix)s"
'''

def small_net(path='net.prototxt', source='train_lmdb', batch=8, outputs=4,
              transform='transform_param { scale: 0.00390625 }'):
    write(path, (SMALL_NET % dict(source=source, batch=batch, outputs=outputs, transform=transform)).encode())

def small_solver(path='solver.prototxt', net='net.prototxt', iters=20, prefix='snap', more=''):
    write(path, (SMALL_SOLVER % dict(net=net, iters=iters, prefix=prefix) + more + '\n').encode())


# A gray JPEG of 8 x 8 pixels from libjpeg; tests truncate it.
JPEG = (
    'ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213271c1e17202e2931302e'
    '292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fffc0000b080008000801011100ffc40014000100000000'
    '000000000000000000000005ffc40018100002030000000000000000000000000000030663a1ffda0008010100003f0029313af0ffd9')
