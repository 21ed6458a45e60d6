"""Records whose label is not an int32: forks of Caffe declare it as float (DeepDetect), double or repeated. Every
command that reads records takes a number as it is, and reports a record with several labels; none takes it for 0."""
import json, os, re, struct

import pytest

from tests.cli import fixtures

LABEL = 5


def number(wire, value):
    return fixtures.varint(LABEL << 3 | wire) + value


def float_label(value): return number(5, struct.pack('<f', value))
def double_label(value): return number(1, struct.pack('<d', value))
def packed(*values): return number(2, bytes([len(values)]) + bytes(values))
def repeated(*values): return b''.join(fixtures.field(LABEL, value) for value in values)


NUMBERS = {'float': [float_label(v) for v in (3, 1, 2.5, -0.25)],
           'double': [double_label(v) for v in (3, 1, 2.5, -0.25)]}
CLASSES = {'int': [fixtures.field(LABEL, v) for v in (3, 1, 2, 0)], 'float': [float_label(v) for v in (3, 1, 2, 0)]}
BAD = {'packed': packed(3, 1), 'repeated': repeated(3, 1), 'floats': float_label(3) + float_label(1),
       'nan': float_label(float('nan'))}
REASON = r'several labels|not a number'
NET = 'regression.prototxt'
# Each command that reads the records of db, with its exit code where the labels are numbers but not classes.
COMMANDS = {
    ('data', 'verify', 'db'): 0,
    ('data', 'cat', 'db', '00000002'): 0,
    ('data', 'merge', 'db', 'db', '-o', 'merged'): 0,
    ('data', 'split', 'db', '-o', 'parts', '--split=0.5'): 0,
    ('data', 'shuffle', 'db', '-o', 'shuffled'): 0,
    ('data', 'export', 'db', '-o', 'exported'): 4,
    ('data', 'bench', NET, '--seconds=0.1'): 0,
    ('data', 'sheet', NET, '-o', 'sheet.png'): 0,
    ('mean', 'db', '-o', 'mean.binaryproto'): 0,
    ('check', NET): 0,
    ('check', 'classes.prototxt'): 4,
    ('train', 'solver.prototxt'): 0,
    ('test', NET, 'w.caffemodel', '--iterations=1'): 0,
    ('features', 'w.caffemodel', NET, 'label', 'labels.npy', '1', 'npy'): 0,
}


@pytest.fixture
def place(folder, cortado, monkeypatch):
    monkeypatch.setenv('PATH', os.path.dirname(cortado), prepend=':')
    data = '''layer { name: "d" type: "Data" top: "data" top: "label"
  data_param { source: "db" backend: LMDB batch_size: 4 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: %d } }
'''
    column = '''layer { name: "r" type: "Reshape" bottom: "label" top: "t" reshape_param { shape { dim: 4 dim: 1 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "t" top: "loss" }
'''
    loss = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }'
    fixtures.write(NET, (data % 1 + column).encode())
    fixtures.write('classes.prototxt', (data % 4 + loss).encode())
    fixtures.small_solver(net=NET, iters=2)
    weights = [fixtures.blob([1, 64], [0.0] * 64), fixtures.blob([1], [0.0])]
    fixtures.caffemodel('w.caffemodel', fixtures.layer_weights('ip', 'InnerProduct', *weights))
    return folder


def make(labels):
    plain = fixtures.datum(label=0)[:-2]
    fixtures.raw_lmdb('db', {'%08d' % i: plain + label for i, label in enumerate(labels)})


def test_every_subcommand_of_data_is_tried(run):
    page = run('data', '--help').stdout
    listed = re.findall(r'^  (\w+)  ', page[page.index('Subcommands:'):page.index('Examples:')], re.M)
    assert set(listed) - {'stats'} <= {command[1] for command in COMMANDS if command[0] == 'data'}


@pytest.mark.parametrize('kind', NUMBERS)
def test_numbers(place, run, kind):
    import numpy
    make(NUMBERS[kind])
    for command, code in COMMANDS.items():
        done = run(*command, code=code)
        if code: assert re.search('2.5|-0.25', done.stderr), (command, done.stderr)
    assert numpy.load('labels.npy').ravel().tolist() == [3, 1, 2.5, -0.25]
    assert ': label 2.5,' in run('data', 'cat', 'db', '00000002').stdout
    stats = json.loads(run('data', 'stats', 'db', '--json').stdout)[0]
    assert stats['labels_that_are_numbers'] == {'records': 2, 'least': -0.25, 'most': 2.5}
    assert fixtures.read_lmdb('merged')[2][1] == fixtures.read_lmdb('db')[2][1]


@pytest.mark.parametrize('kind', CLASSES)
def test_classes(place, run, kind):
    make(2 * CLASSES[kind])  # a split needs two of each
    for command, code in COMMANDS.items(): run(*command, code=0)
    stats = json.loads(run('data', 'stats', 'db', '--json').stdout)[0]
    assert [one['label'] for one in stats['per_label']] == [0, 1, 2, 3] and 'labels_that_are_numbers' not in stats


@pytest.mark.parametrize('kind', BAD)
def test_labels_that_cannot_be_read(place, run, kind):
    labels = list(CLASSES['int'])
    labels[2] = BAD[kind]
    make(labels)
    for command in set(COMMANDS) - {('check', NET)}:  # which reads labels for the layers that need classes
        done = run(*command, code=4)
        said = done.stdout + done.stderr
        assert '00000002' in said and re.search(REASON, said), (command, said)
    stats = json.loads(run('data', 'stats', 'db', '--json').stdout)[0]
    assert stats['undecodable'] == 1 and stats['broken'][0]['key'] == '00000002'
    assert re.search(REASON, stats['broken'][0]['reason'])


def test_names_of_merged_sets_are_those_of_whole_numbers(place, run):
    make(CLASSES['float'])
    os.rename('db', 'a')
    make(CLASSES['int'])
    os.rename('db', 'b')
    for name, labels in ('a', 'ant bee cat dog'), ('b', 'dog cat bee ant'):
        fixtures.write(name + '.labels.txt', '\n'.join(labels.split()).encode())
    run('data', 'merge', 'a', 'b', '-o', 'both')
    assert [fixtures.label_of(value) for _, value in fixtures.read_lmdb('both')] == [3, 1, 2, 0, 0, 2, 1, 3]
