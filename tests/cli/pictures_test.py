"""`cortado draw`: every layer appears once, nothing overlaps, edges run downwards and around blocks, text fits in a
wide font, and the PNG shows the same as the SVG."""
import json, os, random, re, shutil, struct, zlib
import xml.etree.ElementTree as ElementTree

import pytest

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../models')
SVG = '{http://www.w3.org/2000/svg}'

# Advances of ' ' to '~' in DejaVu Sans and DejaVu Sans Bold, the widest common "sans-serif" fonts, in 1/1000 em.
WIDE = [318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636,
        636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656,
        557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613,
        635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818,
        592, 592, 525, 636, 337, 636, 838]
WIDE_BOLD = [348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696,
             696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372,
             372, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838,
             500, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595,
             478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838]

def wide(text, size, bold):
    """The text's width in these fonts."""
    widths = WIDE_BOLD if bold else WIDE
    return size / 1000 * sum(widths[ord(c) - 32] if ' ' <= c <= '~' else 1000 for c in text)

class Box:
    def __init__(self, rect):
        self.x, self.y, self.w, self.h = [float(rect.get(k)) for k in ('x', 'y', 'width', 'height')]

    def meets(self, other, room=0.0):
        return (self.x < other.x + other.w + room and other.x < self.x + self.w + room and
                self.y < other.y + other.h + room and other.y < self.y + self.h + room)

    def holds(self, x, y, inset=0.5):
        return self.x + inset < x < self.x + self.w - inset and self.y + inset < y < self.y + self.h - inset

def points_of(path):
    """Points along a path with the commands M, C and L."""
    numbers = [float(n) for n in re.findall(r'-?[\d.]+(?:e[-+]?\d+)?', path)]
    pairs, points = list(zip(numbers[::2], numbers[1::2])), []
    at = 1
    last = pairs[0]
    for command in re.findall('[CL]', path):
        if command == 'L':
            bend, at = [last, last, pairs[at], pairs[at]], at + 1
        else:
            bend, at = [last] + pairs[at:at + 3], at + 3
        for k in range(21):
            t = k / 20
            shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3
            points.append(tuple(sum(c * p[i] for c, p in zip(shares, bend)) for i in (0, 1)))
        last = bend[-1]
    return points

def check_svg(text, blocks, down):
    """Checks that boxes are apart, texts lie within their boxes and apart, and edges pass no other box."""
    root = ElementTree.fromstring(text)
    width, height = float(root.get('width')), float(root.get('height'))
    groups = root.findall(SVG + 'g')
    boxes = [Box(next(r for r in g.findall(SVG + 'rect') if r.get('class').split()[0] in ('box', 'tag')))
             for g in groups]
    assert sum('box' in g.find(SVG + 'rect').get('class') for g in groups) == blocks
    for i, box in enumerate(boxes):
        assert box.x >= 0 and box.y >= 0 and box.x + box.w <= width and box.y + box.h <= height
        assert not any(box.meets(other, 8) for other in boxes[:i]), groups[i].find(SVG + 'title').text
    styles = {name: (float(size), 'bold' in rest) for name, size, rest in
              re.findall(r'\.(\w+)\{font-size:([\d.]+)px([^}]*)\}', root.find(SVG + 'style').text)}
    for t in root.findall(SVG + 'text'):  # the legend
        assert float(t.get('x')) + wide(t.text, *styles[t.get('class')]) <= width, t.text
    for group, box in zip(groups, boxes):
        lines = []
        for t in group.findall(SVG + 'text'):
            x, y, room = float(t.get('x')), float(t.get('y')), wide(t.text, *styles[t.get('class')])
            inner = [b for b in map(Box, group.findall(SVG + 'rect')) if b.holds(x, y)][-1]
            assert inner.x <= x - room / 2 and x + room / 2 <= inner.x + inner.w, t.text
        for t in group.findall(SVG + 'text'):
            long = float(t.get('textLength'))
            lines.append((float(t.get('x')) - long / 2, float(t.get('x')) + long / 2, float(t.get('y'))))
            assert box.x <= lines[-1][0] and lines[-1][1] <= box.x + box.w and box.y < lines[-1][2] < box.y + box.h
        for i, a in enumerate(lines):
            for b in lines[:i]:
                assert abs(a[2] - b[2]) >= 9 or a[1] <= b[0] or b[1] <= a[0], (t.text, a, b)
    for path in root.findall(SVG + 'path'):
        points = points_of(path.get('d'))
        along = [p[1 if down else 0] for p in points]
        assert all(b >= a - 1e-2 for a, b in zip(along, along[1:])), path.get('d')
        for box in boxes: assert not any(box.holds(*p) for p in points), (path.find(SVG + 'title').text, path.get('d'))

def read_png(data):
    """Rows of (red, green, blue) bytes."""
    assert data[:8] == b'\x89PNG\r\n\x1a\n'
    at, parts, head = 8, b'', None
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack('>I', data[at + 8 + size:at + 12 + size])[0]
        if kind == b'IHDR': head = struct.unpack('>IIBBBBB', body)
        if kind == b'IDAT': parts += body
        at += 12 + size
    width, height, depth, color = head[:4]
    assert (depth, color) == (8, 2)
    raw, above, rows = zlib.decompress(parts), bytes(3 * width), []
    for y in range(height):
        row = raw[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        assert row[0] == 2  # filter type Up
        above = bytes((a + b) & 255 for a, b in zip(row[1:], above))
        rows.append(above)
    return rows

def random_net(seed):
    """A net of sums of random earlier blobs, with names that need escaping."""
    chance = random.Random(seed)
    net = 'name: "<a & b> \\"c\\" \\303\\251 \\377 %s"\n' % ('long ' * 40)
    net += 'layer { name: "b0" type: "Input" top: "b0" input_param { shape { dim: 1 dim: 4 } } }\n'
    for i in range(1, 60):
        read = chance.sample(range(max(0, i - chance.choice([3, 9, 40])), i), 1)
        read += [k for k in chance.sample(range(i), min(i, chance.choice([0, 0, 1, 2]))) if k not in read]
        bottoms = ''.join(' bottom: "b%d"' % k for k in read)
        kind = 'Eltwise' if len(read) > 1 else chance.choice(['Power', 'ReLU', 'Softmax'])
        name = 'b%d' % i if chance.random() < 0.7 else 'b%d<&>%s' % (i, 'W' * chance.randrange(60))
        net += 'layer { name: "%s" type: "%s"%s top: "b%d" }\n' % (name, kind, bottoms, i)
    return net


@pytest.fixture(scope='module')
def check_net(run):
    """check_net('net.prototxt') checks the net's pictures and returns its --json report."""
    def output(*words): return run(*words).stdout
    def check_net(path, *flags):
        net = json.loads(output('draw', path, '--json', *flags))
        layers = [layer['name'] for block in net['blocks'] for layer in block['layers']]
        shared = [w for w in flags if not w.startswith('--full')]
        summary = json.loads(output('summary', path, '--json', '--no-data', *shared))
        assert sorted(layers) == sorted(layer['name'] for layer in summary['layers']), path
        assert net['params'] == summary['total_params']
        full = json.loads(output('draw', path, '--json', '--full', *shared))
        assert len(full['blocks']) == len(layers) >= len(net['blocks'])
        for edge in net['edges']: assert edge['from'] < edge['to']
        for direction in ('TB', 'LR'):
            check_svg(output('draw', path, '--rankdir=' + direction, *flags), len(net['blocks']), direction == 'TB')
        dot = output('draw', path, '--format=dot', *flags)
        assert len(re.findall(r'^  n\d+ \[', dot, re.M)) == len(net['blocks'])
        assert len(re.findall(r'^  n\d+ -> n\d+ ', dot, re.M)) == len(net['edges'])
        return net
    return check_net


@pytest.mark.parametrize('name, flags', [('lenet/train_val', ['--phase=TRAIN']), ('lenet/deploy', ['--phase=TEST']),
                                         ('googlenet/deploy', ['--phase=TEST']), ('resnet50/deploy', ['--phase=TEST']),
                                         ('googlenet/deploy', ['--phase=TEST', '--full'])])
def test_pictures_of_models(check_net, name, flags):
    net = check_net('%s/%s.prototxt' % (MODELS, name), *flags)
    types = [[layer['type'] for layer in block['layers']] for block in net['blocks']]
    if 'resnet50' in name: assert types.count(['Convolution', 'BatchNorm', 'Scale', 'ReLU']) == 33


@pytest.mark.parametrize('number', range(12))
def test_pictures_of_random_nets(check_net, folder, number):
    (folder / 'net.prototxt').write_text(random_net(number))
    check_net('net.prototxt', *(['--full'] if number % 2 else []))


@pytest.mark.parametrize('name, flags', [('train_val', []), ('deploy', ['--rankdir=LR'])])
def test_png_equals_the_svg(run, folder, name, flags):
    """The PNG has twice the SVG's size, colors where it has boxes, and ink where it has text and edges."""
    path = MODELS + '/lenet/%s.prototxt' % name
    root = ElementTree.fromstring(run('draw', path, *flags).stdout)
    run('draw', path, 'net.png', *flags)
    rows = read_png((folder / 'net.png').read_bytes())
    assert abs(len(rows) - 2 * float(root.get('height'))) <= 1
    assert abs(len(rows[0]) / 3 - 2 * float(root.get('width'))) <= 1
    pixel = lambda x, y: tuple(rows[int(2 * y)][3 * int(2 * x):3 * int(2 * x) + 3])
    kinds = re.findall(r'\.(\w+)\{fill:#(\w{6});stroke', root.find(SVG + 'style').text)
    fills = {name: tuple(bytes.fromhex(fill)) for name, fill in kinds[:len(kinds) // 2]}  # then those of dark pages
    dark = lambda x, y: sum(pixel(x, y)) < 450
    for group in [root] + root.findall(SVG + 'g'):
        for rect in group.findall(SVG + 'rect'):
            if rect.get('class') == 'page': continue
            box, kind = Box(rect), rect.get('class').split()[1]
            assert pixel(box.x + 4, box.y + box.h / 2) == fills[kind], (kind, pixel(box.x + 4, box.y + box.h / 2))
            assert pixel(box.x - 2, box.y - 2) in ((255, 255, 255), *fills.values())
        for t in group.findall(SVG + 'text'):
            x, y, long = float(t.get('x')), float(t.get('y')), float(t.get('textLength'))
            left = x if group is root else x - long / 2
            ink = [any(dark(left + i / 2, y - j / 2) for j in range(18)) for i in range(int(2 * long))]
            assert sum(ink) > 0.4 * len(ink) and any(ink[:len(ink) // 4]) and any(ink[-len(ink) // 4:]), t.text
    for path_of in root.findall(SVG + 'path'):
        points = points_of(path_of.get('d'))
        assert pixel(*points[10]) != (255, 255, 255), path_of.get('d')
        (x, y), (dx, dy) = points[-1], next((a - c, b - d)
                                            for (a, b), (c, d) in zip([points[-1]] * len(points), points[::-1])
                                            if abs(a - c) + abs(b - d) > 1)
        long = (dx * dx + dy * dy) ** 0.5
        for aside in (-1.8, 1.8):  # the arrow's head
            at = x - (6 * dx + aside * dy) / long, y - (6 * dy - aside * dx) / long
            assert pixel(*at) != (255, 255, 255), ('no arrow head', path_of.get('d'))


def test_letters_differ(run, folder):
    images = []
    for letter in 'azéč猫':
        (folder / 'name.prototxt').write_text('layer { name: "relu%s" type: "DummyData" top: "a" '
                                              'dummy_data_param { shape { dim: 1 } } }' % letter)
        run('draw', 'name.prototxt', 'name.png', '--force')
        images.append((folder / 'name.png').read_bytes())
    assert len(set(images)) == 5


def test_without_the_module_the_error_names_the_packages(cortado, run, folder):
    shutil.copy(cortado, 'alone')
    (folder / 'net.prototxt').write_text('layer { name: "a" type: "Input" top: "a" }')
    stderr = run('draw', 'net.prototxt', 'net.png', program='./alone', code=5).stderr
    assert 'libcortado_canvas.so' in stderr and 'libpangocairo' in stderr and 'fonts-dejavu-core' in stderr
    assert not (folder / 'net.png').exists()
    run('draw', 'net.prototxt', 'net.svg', program='./alone')


def test_unknown_layers_and_formats(run, folder):
    path = folder / 'net.prototxt'
    path.write_text('layer { name: "a" type: "NobodyKnows" top: "a" }\n'
                    'layer { name: "b" type: "ReLU" bottom: "a" top: "b" }')
    check_svg(run('draw', path).stdout, 1, True)
    run('draw', path, 'out.svg'), run('draw', path, 'out.dot')
    assert ElementTree.parse(folder / 'out.svg') and (folder / 'out.dot').read_text().startswith('digraph')
    run('draw', path, 'out.jpg', code=2)
    run('draw', path, 'out.jpg', '--format=png')
    run('draw', path, 'no/out.svg', code=5)
