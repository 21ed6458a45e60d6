"""This file writes the same weights in the dialect of every Caffe. cortado reads the same blobs from all of them and
computes the same results. This file's own readers check what cortado writes."""
import json, resource, struct

import pytest

from tests.cli.fixtures import field, npy, varint, write

# The weights are multiples of 1/8, which are exact in 16 bits. BatchNorm: mean, variance, factor, scale, bias.
def eighths(count, start):
    return [((7 * i + start) % 41 - 20) / 8 for i in range(count)]

CONV = [([2, 1, 3, 3], eighths(18, 3)), ([2], [0.5, -1.25])]
IP = [([3, 8], eighths(24, 11)), ([3], [1.0, -2.0, 0.125])]
MEAN, VARIANCE, GAMMA, BETA = [1.5, -0.25], [4.0, 0.5], [0.75, -3.0], [2.0, 0.625]
FACTOR = 4.0
WEIGHTS = {'conv': ('Convolution', CONV), 'ip': ('InnerProduct', IP)}

def norm(factor=1.0, scales=2):
    blobs = [([2], [v * factor for v in MEAN]), ([2], [v * factor for v in VARIANCE]), ([1], [factor])]
    return blobs + [([2], GAMMA), ([2], BETA)][:scales]


# Writers

def packed(kind, values): return struct.pack('<%d%s' % (len(values), kind), *values)

def dims(shape): return field(7, field(1, b''.join(varint(d) for d in shape)))

def blob_bvlc(shape, values): return dims(shape) + field(5, packed('f', values))

def blob_unpacked(shape, values):
    return b''.join(varint(5 << 3 | 5) + struct.pack('<f', v) for v in values) + dims(shape)

def blob_double(shape, values): return dims(shape) + field(8, packed('d', values))

def blob_four(shape, values):
    shape = [1] * (4 - len(shape)) + shape
    return b''.join(field(k + 1, d) for k, d in enumerate(shape)) + field(5, packed('f', values))

def blob_raw(number, kind):
    return lambda shape, values: dims(shape) + field(10, number) + field(12, packed(kind, values))

def today(layers, blob, more=lambda name: b''):
    return field(1, 'net') + b''.join(
        field(100, field(1, name) + field(2, kind) + b''.join(field(7, blob(*b)) for b in blobs) + more(name))
        for name, kind, blobs in layers)

def layers(*norms): return [('conv', *WEIGHTS['conv']), *norms, ('ip', *WEIGHTS['ip'])]

PAIR = layers(('bn', 'BatchNorm', norm(FACTOR, 0)), ('scale', 'Scale', [([2], GAMMA), ([2], BETA)]))

def fused(factor=1.0, scales=2): return layers(('bn', 'BatchNorm', norm(factor, scales)))

def nvidia(blob, blobs=None):
    """Snapshots of NVIDIA's Caffe have forward_type and scale_bias."""
    more = lambda name: field(145, 1) + (field(139, field(7, 1)) if name == 'bn' else b'')
    return today(layers(('bn', 'BatchNorm', blobs or norm())), blob, more)

def digits():
    mean, variance, factor, gamma, beta = norm()
    return nvidia(blob_four, [gamma, beta, mean, variance, factor])

def intel():
    more = lambda name: field(149, 'MKLDNN') + (field(139, field(4, 4) + field(5, 1)) if name == 'bn' else b'')
    return today(fused(FACTOR), blob_bvlc, more)

def v1(blob=blob_four):
    numbers = {'conv': 4, 'ip': 14}
    return field(1, 'net') + b''.join(
        field(2, field(2, 'x') + field(4, name) + field(5, numbers[name]) + b''.join(field(6, blob(*b)) for b in blobs))
        for name, (_, blobs) in WEIGHTS.items())

def v0():
    words = {'conv': 'conv', 'ip': 'innerproduct'}
    return field(1, 'net') + b''.join(
        field(2, field(1, field(1, name) + field(2, words[name]) + b''.join(field(50, blob_four(*b)) for b in blobs)))
        for name, (_, blobs) in WEIGHTS.items())

def safetensors(layers, dtype='F32', metadata=True):
    head, data = {}, b''
    if metadata: head['__metadata__'] = {'net': 'net', **{'type:' + name: kind for name, kind, _ in layers}}
    for name, _, blobs in layers:
        for k, (shape, values) in enumerate(blobs):
            if dtype == 'BF16': raw = b''.join(struct.pack('<f', v)[2:] for v in values)
            else: raw = packed({'F64': 'd', 'F32': 'f', 'F16': 'e'}[dtype], values)
            head['%s.%d' % (name, k)] = {'dtype': dtype, 'shape': shape,
                                         'data_offsets': [len(data), len(data) + len(raw)]}
            data += raw
    text = json.dumps(head).encode()
    return struct.pack('<Q', len(text)) + text + data


# Readers

def parse(data):
    """The fields of a message: number -> values."""
    fields, at = {}, 0
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128: return value
    while at < len(data):
        tag = number()
        if tag & 7 == 0: value = number()
        elif tag & 7 == 5: value, at = data[at:at + 4], at + 4
        elif tag & 7 == 1: value, at = data[at:at + 8], at + 8
        else:
            size = number()
            value, at = data[at:at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields

def read_blob(data):
    fields = parse(data)
    packed_dims, shape = parse(fields[7][0]).get(1, [b''])[0], []
    while packed_dims:  # all extents here are below 128
        shape, packed_dims = shape + [packed_dims[0]], packed_dims[1:]
    if 12 in fields:
        kind = {0: 'd', 1: 'f', 2: 'e'}[fields[10][0]]
        return shape, list(struct.unpack('<%d%s' % (len(fields[12][0]) / struct.calcsize(kind), kind), fields[12][0]))
    return shape, list(struct.unpack('<%df' % (len(fields[5][0]) / 4), fields[5][0]))

def read_caffemodel(path):
    net = parse(open(path, 'rb').read())
    out = {}
    for data in net[100]:
        layer = parse(data)
        out[layer[1][0].decode()] = (layer[2][0].decode(), [read_blob(b) for b in layer[7]])
    return out

def read_safetensors(path):
    data = open(path, 'rb').read()
    size = struct.unpack('<Q', data[:8])[0]
    assert size % 8 == 0
    head, values, out = json.loads(data[8:8 + size]), data[8 + size:], {}
    types, end = head.pop('__metadata__'), 0
    for name, tensor in head.items():
        begin, last = tensor['data_offsets']
        assert begin == end, 'a gap'
        end, kind = last, {'F32': 'f', 'F16': 'e'}[tensor['dtype']]
        layer, k = name.rsplit('.', 1)
        blobs = out.setdefault(layer, (types['type:' + layer], []))[1]
        assert int(k) == len(blobs)
        form = '<%d%s' % ((last - begin) / struct.calcsize(kind), kind)
        blobs.append((tensor['shape'], list(struct.unpack(form, values[begin:last]))))
    assert end == len(values)
    return out


NET = '''layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 1 dim: 4 dim: 4 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 2 kernel_size: 3 } }
%s
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" inner_product_param { num_output: 3 } }
'''
PAIR_NET = NET % '''layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }'''
NVIDIA_NET = NET % ('layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" '
                    'batch_norm_param { scale_bias: true } }')
INTEL_NET = NET % '''layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv"
  batch_norm_param { engine: MKLDNN use_weight_bias: true filler { value: 1 } bias_filler { value: 0 } } }'''

def output_of(x):
    """The net's output for x."""
    out = []
    for n in range(2):
        image, flat = x[16 * n:16 * n + 16], []
        for c in range(2):
            for i in range(2):
                for j in range(2):
                    v = CONV[1][1][c] + sum(CONV[0][1][9 * c + 3 * a + b] * image[4 * (i + a) + j + b]
                                            for a in range(3) for b in range(3))
                    flat.append((v - MEAN[c]) / (VARIANCE[c] + 1e-5) ** 0.5 * GAMMA[c] + BETA[c])
        out += [IP[1][1][k] + sum(w * v for w, v in zip(IP[0][1][8 * k:8 * k + 8], flat)) for k in range(3)]
    return out


FILES = {  # bytes, the program's description, blobs
    'bvlc': (today(PAIR, blob_bvlc), 'BVLC dialect', PAIR),
    'unpacked': (today(PAIR, blob_unpacked), 'BVLC dialect', PAIR),
    'double': (today(PAIR, blob_double), 'BVLC dialect, 64-bit values', PAIR),
    'nvidia32': (nvidia(blob_raw(1, 'f')), 'NVIDIA dialect, BatchNorm of 5 blobs', fused()),
    'nvidia16': (nvidia(blob_raw(2, 'e')), 'NVIDIA dialect, 16-bit values, BatchNorm of 5 blobs', fused()),
    'nvidia64': (nvidia(blob_raw(0, 'd')), 'NVIDIA dialect, 64-bit values, BatchNorm of 5 blobs', fused()),
    'nvidia_old': (nvidia(blob_bvlc), 'NVIDIA dialect, BatchNorm of 5 blobs', fused()),
    'intel': (intel(), 'Intel dialect, BatchNorm of 5 blobs', fused(FACTOR)),
    'intel4': (today(fused(FACTOR, 1), blob_bvlc), 'Intel dialect, BatchNorm of 4 blobs', fused(FACTOR, 1)),
    'F32': (safetensors(PAIR), 'safetensors', PAIR),
    'F16': (safetensors(PAIR, 'F16'), 'safetensors, 16-bit values', PAIR),
    'BF16': (safetensors(PAIR, 'BF16'), 'safetensors, 16-bit values', PAIR),
    'F64': (safetensors(PAIR, 'F64'), 'safetensors, 64-bit values', PAIR),
}


def blobs_of(layers): return {name: (kind, [(list(s), list(v)) for s, v in blobs]) for name, kind, blobs in layers}


@pytest.fixture
def convert(run, folder):
    """convert('bvlc', 'out.safetensors') runs `cortado convert weights` in a folder with the three nets."""
    for name, text in (('pair', PAIR_NET), ('nvidia', NVIDIA_NET), ('intel', INTEL_NET)):
        (folder / (name + '.prototxt')).write_text(text)
    return lambda *words: run('convert', 'weights', '--force', *words)


@pytest.mark.parametrize('name', FILES)
def test_every_dialect_is_recognized_and_read(convert, name):
    data, describes, expected = FILES[name]
    write(name, data)
    report = json.loads(convert(name, 'out.safetensors', '--json').stdout)
    assert (report['describes'], report['net']) == (describes, 'net')
    assert read_safetensors('out.safetensors') == blobs_of(expected)
    assert '%s: weights of %s' % (name, describes) in convert(name, '--list').stderr


@pytest.mark.parametrize('name', FILES)
def test_every_dialect_is_written(convert, name):
    data, _, layers = FILES[name]
    write(name, data)
    expected = blobs_of(layers)
    bn = expected['bn'][1]
    averages = [([2], [v / bn[2][1][0] for v in b[1]]) for b in bn[:2]] + [([1], [1.0])] + bn[3:]
    if len(bn) == 4: averages.append(([2], [0.0, 0.0]))
    for words in (['--format=nvidia'], ['--format=nvidia', '--half']):
        convert(name, 'out.caffemodel', *words)
        assert read_caffemodel('out.caffemodel') == dict(expected, bn=('BatchNorm', averages)), words
    convert(name, 'out.caffemodel', '--format=intel')
    assert read_caffemodel('out.caffemodel') == expected
    convert(name, 'half.safetensors', '--half')
    assert read_safetensors('half.safetensors') == expected
    convert(name, 'out.caffemodel', '--format=bvlc')
    pair = dict(expected)
    if len(bn) > 3: pair.update(bn=('BatchNorm', bn[:3]), bn_scale=('Scale', bn[3:]))
    assert read_caffemodel('out.caffemodel') == pair
    if len(bn) == 4: return
    convert(name, 'out.caffemodel', '--model=pair.prototxt')
    assert read_caffemodel('out.caffemodel') == dict(expected, bn=('BatchNorm', bn[:3]),
                                                     scale=('Scale', [([2], GAMMA), ([2], BETA)]))
    for kind in ('intel', 'nvidia'):
        convert(name, 'out.caffemodel', '--model=%s.prototxt' % kind, '--format=' + kind)
        one = dict(expected)
        if one.pop('scale', None): one['bn'] = ('BatchNorm', bn + [([2], GAMMA), ([2], BETA)])
        if kind == 'nvidia': one['bn'] = ('BatchNorm', averages[:3] + [([2], GAMMA), ([2], BETA)])
        assert read_caffemodel('out.caffemodel') == one, kind


def test_digits_batch_norm_has_another_order_of_blobs(convert):
    write('digits', digits())  # blobs of four extents
    convert('digits', 'out.safetensors')
    assert read_safetensors('out.safetensors')['bn'] == blobs_of(fused())['bn']


@pytest.mark.parametrize('data, year', [(v1(), 2014), (v0(), 2013)], ids=['v1', 'v0'])
def test_old_layers_are_read(convert, data, year):
    write('old', data)
    report = json.loads(convert('old', 'out.caffemodel', '--json').stdout)
    assert report['describes'] == 'BVLC dialect, layers of %d, blobs of four extents' % year
    got = read_caffemodel('out.caffemodel')
    for layer, (kind, blobs) in WEIGHTS.items():
        assert got[layer][0] == kind
        assert [v for _, v in got[layer][1]] == [v for _, v in blobs]


@pytest.mark.parametrize('net', ['pair', 'nvidia', 'intel'])
@pytest.mark.parametrize('name', ['bvlc', 'nvidia32', 'nvidia16', 'nvidia_old', 'intel', 'digits', 'F16'])
def test_each_file_in_each_net_computes_the_same(run, convert, net, name):
    x = eighths(32, 5)
    npy('x.npy', [2, 1, 4, 4], x)
    write('weights', digits() if name == 'digits' else FILES[name][0])
    run('infer', '--model=%s.prototxt' % net, '--weights=weights', '--input', 'data=x.npy', '--output', 'ip=y.npy',
        '--force')
    with open('y.npy', 'rb') as file: got = struct.unpack('<6f', file.read()[-24:])
    expected = output_of(x)
    assert all(abs(a - b) <= 2e-5 * max(1, abs(b)) for a, b in zip(got, expected)), (got, expected)


def test_all_bits_are_kept(convert, folder):
    """safetensors keep all values, including signaling NaNs."""
    bits = [0x7fc00000, 0x7f800001, 0xff800000, 0x80000000, 1, 0x7f7fffff, 0xffc12345, 0x3f800001]
    raw = struct.pack('<8I', *bits)
    blob = dims([8]) + field(5, raw)
    write('bits', field(1, 'net') + field(100, field(1, 'l') + field(2, 'Bias') + field(7, blob)))
    convert('bits', 'bits.safetensors')
    convert('bits.safetensors', 'bits.caffemodel')
    for path in ('bits.safetensors', 'bits.caffemodel'): assert raw in (folder / path).read_bytes(), path


def test_gradients_of_a_large_file_are_not_read(cortado, run, folder):
    """The file is larger than 4 GiB, nearly all of it a hole."""
    layer = field(1, 'first') + field(2, 'Bias') + field(7, blob_bvlc([2], [1.0, 2.0]))
    last = field(100, field(1, 'last') + field(2, 'Bias') + field(7, blob_bvlc([2], [3.0, 4.0])))
    hole = 5 << 30
    diffs = dims([0]) + varint(6 << 3 | 2) + varint(hole)  # a blob without values, whose gradient is 5 GiB
    begin = field(1, 'c') + field(2, 'Bias') + varint(7 << 3 | 2) + varint(len(diffs) + hole) + diffs
    with open('large', 'wb') as f:
        f.write(field(1, 'net') + field(100, layer) + varint(100 << 3 | 2) + varint(len(begin) + hole) + begin)
        f.seek(hole, 1)
        f.write(last)
    with open(cortado, 'rb') as f: sanitized = b'__asan_init' in f.read()  # it reserves terabytes
    limit = None if sanitized else lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
    run('convert', 'weights', 'large', 'small', '--json', preexec_fn=limit)
    got = read_caffemodel('small')
    assert list(got) == ['first', 'c', 'last']
    assert (got['last'][1], got['c'][1]) == ([([2], [3.0, 4.0])], [([0], [])])
    (folder / 'large').unlink()
