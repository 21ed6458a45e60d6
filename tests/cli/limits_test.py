"""Short files that describe large nets: time and memory stay proportional to the file's size, and the command ends with
a result or an error message.
"""
import resource, shutil, subprocess

import pytest

INPUT = 'layer { name: "a" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 } } }\n'
PRODUCT = 'inner_product_param { num_output: 2 }'
MAX_MEMORY = 1 << 30  # bytes of address space


def many(count, line):
    return INPUT + '\n'.join(line % dict(i=i, before='x' if i == 0 else 'y%d' % (i - 1)) for i in range(count)) + '\n'


NETS = {
    'nested brackets': 'layer {' * 100000,
    'nested messages': 'layer { a {' + ' b {' * 50000 + '}' * 50002,
    'nested lists': 'layer { x: [' * 200000,
    'more layers than the limit': many(150000, 'layer { type: "ReLU" bottom: "x" top: "x" }'),
    'a chain': many(30000, 'layer { type: "ReLU" bottom: "%(before)s" top: "y%(i)d" }'),
    'a chain with weights': many(4000, 'layer { name: "%(i)d" type: "InnerProduct" bottom: "%(before)s" top: "y%(i)d" '
                                + PRODUCT + ' }') +
                           'layer { type: "EuclideanLoss" bottom: "y3999" bottom: "x" top: "loss" }',
    'one blob as bottom of many layers': 'layer { name: "w" type: "InnerProduct" bottom: "x" top: "s" %s }\n'.join(
        [INPUT, '']) % PRODUCT + many(15000, 'layer { type: "EuclideanLoss" bottom: "s" bottom: "x" top: "y%(i)d" }')
        .removeprefix(INPUT),
    'one shared weight': many(5000, 'layer { type: "InnerProduct" bottom: "x" top: "y%(i)d" param { name: "w" } '
                                'param { name: "b" } ' + PRODUCT + ' }'),
    'a layer with many bottoms': many(15000, 'layer { type: "Power" bottom: "x" top: "y%(i)d" }') +
        'layer { type: "Concat" top: "z" ' + ' '.join('bottom: "y%d"' % i for i in range(15000)) + ' }',
    'a layer with many tops': INPUT + 'layer { type: "Slice" bottom: "x" ' +
        ' '.join('top: "t%d"' % i for i in range(50000)) + ' }',
    'shapes that double with each layer': many(100, 'layer { type: "Concat" bottom: "%(before)s" bottom: "%(before)s" '
                                     'top: "y%(i)d" }'),
    'errors in every line': many(20000, 'layer { type: "Convolutio%(i)d" bottom: "z%(i)d" top: "x%(i)d" foo: 3 }'),
    'undefined bottoms': many(20000, 'layer { name: "l%(i)d" type: "ReLU" bottom: "q%(i)d" top: "y%(i)d" }'),
    'undefined bottoms with long names': many(5000, 'layer { type: "ReLU" bottom: "q%%(i)d%s" top: "y%%(i)d%s" }' % (
        'ab' * 45, 'cd' * 45)),
    'layers in reverse order': INPUT + '\n'.join(
        'layer { name: "l%d" type: "ReLU" bottom: "y%d" top: "y%d" }' % (i, i, i + 1) for i in range(20000, 0, -1)),
    'a long cycle': INPUT + '\n'.join(
        'layer { name: "l%d" type: "ReLU" bottom: "y%d" top: "y%d" }' % (i, i, (i + 1) % 90000) for i in range(90000)),
    'duplicate tops': many(20000, 'layer { name: "l%(i)d" type: "ReLU" bottom: "x" top: "y" }'),
    'a large shape': INPUT.replace('dim: 2', 'dim: 1000000000'),
    'a shape beyond 64 bits': INPUT.replace('dim: 2', 'dim: 3000000000 dim: 3000000000 dim: 1000'),
    'weights beyond 64 bits': many(3, 'layer { type: "InnerProduct" bottom: "%(before)s" top: "y%(i)d" '
                                   'inner_product_param { num_output: 4000000000 } }'),
    'a long name': INPUT.replace('name: "a"', 'name: "%s"' % ('a' * 10000000)),
    'a file beyond the size limit': '# ' + 'x' * (17 << 20),
}


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


@pytest.mark.parametrize('name', NETS)
def test_time_and_memory_are_bounded(cortado, folder, name):
    (folder / 'net.prototxt').write_text(NETS[name])
    for command in ('check', 'plan', 'summary'):
        done = subprocess.run([cortado, command, 'net.prototxt'], capture_output=True, text=True, preexec_fn=limited,
                              timeout=120)
        assert done.returncode in (0, 3, 5, 6), (command, done.returncode, done.stderr[-1000:])
        assert done.returncode == 0 or 'error: ' in done.stderr, (command, done.stderr[-1000:])
        assert 'internal' not in done.stderr, (command, done.stderr[-1000:])


@pytest.mark.parametrize('soft, hard, code', [(100, 4096, 0), (100, 100, 5)])
def test_more_datasets_than_open_files(cortado, folder, soft, hard, code):
    (folder / 'i.pgm').write_bytes(b'P5 2 2 255\n\0\1\2\3')
    (folder / 'list.txt').write_text('i.pgm 0\ni.pgm 1\n')
    subprocess.run([cortado, 'convert', 'imageset', './', 'list.txt', '-o', 'd0'], check=True, capture_output=True)
    for i in range(1, 300): shutil.copytree(folder / 'd0', folder / ('d%d' % i))
    (folder / 'net.prototxt').write_text('\n'.join(
        'layer { name: "d%d" type: "Data" top: "x%d" data_param { source: "d%d" batch_size: 1 backend: LMDB } }'
        % (i, i, i) for i in range(300)))
    done = subprocess.run([cortado, 'check', 'net.prototxt'], capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    assert done.returncode == code, done.stderr[-1000:]
    assert ('the limit is 100 (`ulimit -n`)' in done.stderr) == (code != 0), done.stderr[-1000:]
