#!/usr/bin/python3
"""`cortado draw`: every layer is there once, nothing overlaps, links run down and past blocks, text fits in a wide
face, and a PNG shows what the SVG says. pictures.py CORTADO"""
import json, os, random, re, struct, subprocess, sys, tempfile, zlib
import xml.etree.ElementTree as ElementTree

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../models')
SVG = '{http://www.w3.org/2000/svg}'


def run(*words, code=0):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout

# Advances of ' ' to '~' in DejaVu Sans and its bold, the widest faces that stand for "sans-serif", in thousandths.
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
    """How wide the text is in those faces."""
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
    """Points along a path of M, C and L."""
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
    """Boxes apart; text within its box and off other text; links from box to box, past all others."""
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
        assert row[0] == 2  # each byte less the one above
        above = bytes((a + b) & 255 for a, b in zip(row[1:], above))
        rows.append(above)
    return rows

def check_png(path, folder, *flags):
    """Twice the SVG's size; colours where the SVG has boxes, ink where it has text and edges."""
    root = ElementTree.fromstring(run('draw', path, *flags))
    run('draw', path, folder + '/net.png', *flags)
    rows = read_png(open(folder + '/net.png', 'rb').read())
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
        for aside in (-1.8, 1.8):  # a head
            at = x - (6 * dx + aside * dy) / long, y - (6 * dy - aside * dx) / long
            assert pixel(*at) != (255, 255, 255), ('no head', path_of.get('d'))

def check_net(path, *flags):
    net = json.loads(run('draw', path, '--json', *flags))
    layers = [layer['name'] for block in net['blocks'] for layer in block['layers']]
    wanted = [w for w in flags if not w.startswith('--full')]
    summary = json.loads(run('summary', path, '--json', '--no-data', *wanted))
    assert sorted(layers) == sorted(layer['name'] for layer in summary['layers']), path
    assert net['params'] == summary['total_params']
    full = json.loads(run('draw', path, '--json', '--full', *wanted))
    assert len(full['blocks']) == len(layers) >= len(net['blocks'])
    for edge in net['edges']: assert edge['from'] < edge['to']
    for direction in ('TB', 'LR'):
        check_svg(run('draw', path, '--rankdir=' + direction, *flags), len(net['blocks']), direction == 'TB')
    dot = run('draw', path, '--format=dot', *flags)
    assert len(re.findall(r'^  n\d+ \[', dot, re.M)) == len(net['blocks'])
    assert len(re.findall(r'^  n\d+ -> n\d+ ', dot, re.M)) == len(net['edges'])
    return net

def random_net(seed):
    """Sums of random earlier blobs, with names that are hard on files and eyes."""
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

def main():
    for name, phase in (('lenet', 'TRAIN'), ('lenet', 'TEST'), ('googlenet', 'TEST'), ('resnet50', 'TEST')):
        path = '%s/%s/%s.prototxt' % (MODELS, name, 'train_val' if phase == 'TRAIN' else 'deploy')
        net = check_net(path, '--phase=' + phase)
        types = [[layer['type'] for layer in block['layers']] for block in net['blocks']]
        if name == 'resnet50': assert types.count(['Convolution', 'BatchNorm', 'Scale', 'ReLU']) == 33, types
    check_net(MODELS + '/googlenet/deploy.prototxt', '--phase=TEST', '--full')
    with tempfile.TemporaryDirectory() as folder:
        check_png(MODELS + '/lenet/train_val.prototxt', folder)
        check_png(MODELS + '/lenet/deploy.prototxt', folder, '--rankdir=LR')
        images = []
        for letter in 'az':  # letters are told apart
            with open(folder + '/name.prototxt', 'w') as file:
                file.write('layer { name: "relu%s" type: "DummyData" top: "a" '
                           'dummy_data_param { shape { dim: 1 } } }' % letter)
            run('draw', folder + '/name.prototxt', folder + '/name.png')
            images.append(open(folder + '/name.png', 'rb').read())
        assert images[0] != images[1]
        path = folder + '/net.prototxt'
        for seed in range(12):
            with open(path, 'w') as file: file.write(random_net(seed))
            check_net(path, '--full') if seed % 2 else check_net(path)
        with open(path, 'w') as file:
            file.write('layer { name: "a" type: "NobodyKnows" top: "a" }\n'
                       'layer { name: "b" type: "ReLU" bottom: "a" top: "b" }')
        check_svg(run('draw', path), 1, True)
        run('draw', path, folder + '/out.svg'), run('draw', path, folder + '/out.dot')
        assert ElementTree.parse(folder + '/out.svg') and open(folder + '/out.dot').read().startswith('digraph')
        run('draw', path, folder + '/out.jpg', code=2)
        run('draw', path, folder + '/out.jpg', '--format=png')
        run('draw', path, folder + '/no/out.svg', code=5)
    print('pictures of 17 nets, both ways')


main()
