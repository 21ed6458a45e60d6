"""Damaged HDF5 files: the program never crashes or hangs, and reports an error with the exit code of the kind of file.
A flipped bit in values is still a valid file, so reading may also succeed."""
import pathlib, random, subprocess

import pytest

from tests.hdf5.rows import h5py, numpy, write_rows

DATA = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: 4 } }
'''
# Accepts rows of any size, because a flipped bit may change the size, which weights would not fit.
ROWS_NET = DATA + 'layer { name: "none" type: "Silence" bottom: "data" bottom: "label" }'
NET = DATA + '''layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "none" type: "Silence" bottom: "ip" bottom: "label" }'''


def write_weights(name):
    with h5py.File(name, 'w') as file:
        file['data/ip/0'] = numpy.ones((2, 6), 'f4')
        file.create_dataset('data/ip/1', data=numpy.ones(2, 'f4'), compression='gzip')


def write_state(name):
    with h5py.File(name, 'w') as file:
        file['iter'] = numpy.array([3], 'i4')
        file['current_step'] = numpy.array([0], 'i4')
        file['learned_net'] = 'w.h5'
        file['history/0'], file['history/1'] = numpy.zeros((2, 6), 'f4'), numpy.zeros(2, 'f4')


def damages(whole, draw, rounds):
    for size in sorted(draw.sample(range(len(whole)), 8)):
        yield 'cut to %d bytes' % size, whole[:size]
    for _ in range(rounds):
        content = bytearray(whole)
        places = [draw.randrange(len(whole)) for _ in range(draw.choice((1, 1, 4, 32)))]
        for place in places:
            content[place] ^= 1 << draw.randrange(8)
        yield 'bits flipped in bytes %s' % places, bytes(content)
    for _ in range(rounds // 4):
        begin, length = draw.randrange(len(whole)), draw.choice((1, 8, 64))
        filler = bytes([draw.choice((0, 255))]) * length
        yield '%s at byte %d' % (filler[:1], begin), whole[:begin] + filler + whole[begin + length:]


@pytest.fixture(autouse=True)
def files(folder):
    (folder / 'net.prototxt').write_text(NET)
    (folder / 'rows.prototxt').write_text(ROWS_NET)
    (folder / 'list.txt').write_text('rows.h5\n')
    (folder / 'solver.prototxt').write_text(
        'net: "net.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 4 snapshot_after_train: false')
    write_rows('rows.h5', 1, 20)
    write_weights('w.h5')
    write_state('s.h5')


@pytest.mark.parametrize('name, code, command', [
    ('rows.h5', 4, ['test', '--model=rows.prototxt', '--weights=w.h5', '--iterations=6']),
    ('w.h5', 8, ['test', '--model=net.prototxt', '--weights=w.h5', '--iterations=6']),
    ('s.h5', 8, ['train', '--solver=solver.prototxt', '--snapshot=s.h5'])])
def test_damaged_file_is_read_or_refused(cortado, request, run, seed, name, code, command):
    rounds = request.config.getoption('--rounds') or 60
    if name == 'rows.h5': write_rows(name, 1, 20, compression='gzip', chunks=(7, 2, 3))
    file = pathlib.Path(name)
    whole = file.read_bytes()
    run(*command)
    refused = 0
    for what, content in damages(whole, random.Random(seed), rounds):
        file.write_bytes(content)
        done = subprocess.run([cortado, *command], capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, code), (what, done.stderr[-1000:])
        assert done.returncode == 0 or 'error: ' in done.stderr, (what, done.stderr)
        refused += done.returncode != 0
    assert refused >= 8


CLAIMS = []  # (error message, function that makes the file): well-formed files with wrong sizes, cycles, external files


def claim(word):
    def add(make):
        CLAIMS.append(pytest.param(word, make, id=make.__name__))
    return add


@claim('the limit for its size')
def never_written(file):
    file.create_dataset('data', (1 << 40, 2, 3), 'f4')
    file.create_dataset('label', (1 << 40,), 'f4')


@claim('the limit for its size')
def packed_zeros_in_one_chunk_after_the_other(file):
    file.create_dataset('data', (1 << 36, 2, 3), 'f4', chunks=(1 << 20, 2, 3), compression='gzip')
    file['data'][:1 << 20] = 0
    file.create_dataset('label', (1 << 36,), 'f4', chunks=(1 << 20,))


@claim('links')
def a_billion_paths(file):
    group = file
    for _ in range(30):
        inner = group.create_group('a')
        group['b'] = inner
        group = inner


@claim('deeper than')
def a_deep_hole(file):
    file.create_group('/'.join('a' * 40))


@claim("no dataset 'data'")
def circles(file):
    file['a/b'] = file['/']
    file['a/c'] = file['a']
    file['a/d'] = h5py.SoftLink('/a/d')


@claim('stored in other files')
def values_of_another_file(file):
    open('secret', 'wb').write(bytes(1000))
    file.create_dataset('data', (4, 2, 3), 'f4', external=[('secret', 0, 96)])
    file['label'] = numpy.zeros(4)


@claim('stored in other files')
def values_seen_through_a_window(file):
    layout = h5py.VirtualLayout((4, 2, 3), 'f4')
    layout[:] = h5py.VirtualSource('whole.h5', 'data', (4, 2, 3))
    file.create_virtual_dataset('data', layout)
    file['label'] = numpy.zeros(4)


@claim("no dataset 'data'")
def a_link_to_another_file(file):
    file['data'] = h5py.ExternalLink('whole.h5', '/data')


@claim('does not hold numbers')
def words(file):
    file['data'], file['label'] = ['a', 'b'], numpy.zeros(2)


@claim('does not hold numbers')
def pairs(file):
    file['data'], file['label'] = numpy.zeros(2, [('x', 'f4'), ('y', 'f4')]), numpy.zeros(2)


@pytest.mark.parametrize('word, make', CLAIMS)
def test_well_formed_but_invalid_file_is_refused(run, word, make):
    with h5py.File('rows.h5', 'w') as file:
        make(file)
    done = run('test', '--model=net.prototxt', '--weights=w.h5', '--iterations=6', code=4, timeout=60)
    assert word in done.stderr
