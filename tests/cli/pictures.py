#!/usr/bin/python3
"""`cortado draw`: every layer is there once, nothing overlaps, links run down and past blocks. pictures.py CORTADO"""
import json, os, random, re, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../models')
SVG = '{http://www.w3.org/2000/svg}'


def run(*words, code=0):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout

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
            points.append(tuple(sum(c * p[i] for c, p in zip(((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3), bend))
                                for i in (0, 1)))
        last = bend[-1]
    return points

def check_svg(text, blocks, down):
    """Boxes apart; text within its box and off other text; links from box to box, past all others."""
    root = ElementTree.fromstring(text)
    width, height = float(root.get('width')), float(root.get('height'))
    groups = root.findall(SVG + 'g')
    boxes = [Box(next(r for r in g.findall(SVG + 'rect') if r.get('class').split()[0] in ('box', 'tag'))) for g in groups]
    assert sum('box' in g.find(SVG + 'rect').get('class') for g in groups) == blocks
    for i, box in enumerate(boxes):
        assert box.x >= 0 and box.y >= 0 and box.x + box.w <= width and box.y + box.h <= height
        assert not any(box.meets(other, 8) for other in boxes[:i]), groups[i].find(SVG + 'title').text
    for group, box in zip(groups, boxes):
        lines = []
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
        path = folder + '/net.prototxt'
        for seed in range(12):
            with open(path, 'w') as file: file.write(random_net(seed))
            check_net(path, '--full') if seed % 2 else check_net(path)
        with open(path, 'w') as file:
            file.write('layer { name: "a" type: "NobodyKnows" top: "a" }\nlayer { name: "b" type: "ReLU" bottom: "a" top: "b" }')
        check_svg(run('draw', path), 1, True)
        run('draw', path, folder + '/out.svg'), run('draw', path, folder + '/out.dot')
        assert ElementTree.parse(folder + '/out.svg') and open(folder + '/out.dot').read().startswith('digraph')
        run('draw', path, folder + '/out.png', code=2)
        run('draw', path, folder + '/no/out.svg', code=5)
    print('pictures of 17 nets, both ways')


main()
