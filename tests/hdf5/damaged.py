#!/usr/bin/python3
"""Damaged HDF5 files: cortado never crashes or hangs, and what it cannot read it says, with the exit code of the kind
of file.

    damaged.py CORTADO [--rounds N] [--seed N]

A flipped bit in values is a value like any other, so reading may also succeed.
"""
import argparse
import random

from workplace import Workplace, h5py, numpy, write, write_rows

DATA = '''layer { name: "in" type: "HDF5Data" top: "data" top: "label"
  hdf5_data_param { source: "list.txt" batch_size: 4 } }
'''
# Takes rows of any size: a flipped bit in a size may give others, which weights would not fit.
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


def check(place, name, code, draw, rounds, *command):
    """Runs `command` on each damaged form of the file."""
    whole = open(name, 'rb').read()
    place.succeed(*command)
    refused = 0
    for what, content in damages(whole, draw, rounds):
        with open(name, 'wb') as file:
            file.write(content)
        done = place.run(*command)
        assert done.returncode in (0, code), (name, what, done.returncode, done.stderr[-1000:])
        assert done.returncode == 0 or 'error: ' in done.stderr, (name, what, done.stderr)
        refused += done.returncode != 0
    with open(name, 'wb') as file:
        file.write(whole)
    print('%s: %d of %d refused, none crashed' % (name, refused, 8 + rounds + rounds // 4))
    assert refused >= 8


def check_claims(place, command):
    """Files that are whole, and mean no good: claims of size, circles, other people's files."""
    def refused(word, **options):
        def fill(make):
            with h5py.File('rows.h5', 'w', **options) as file:
                make(file)
            done = place.run(*command, timeout=60)
            assert done.returncode == 4 and word in done.stderr, (make, done.returncode, done.stderr[-1000:])
        return fill

    @refused('too much for a file of its size')
    def never_written(file):
        file.create_dataset('data', (1 << 40, 2, 3), 'f4')
        file.create_dataset('label', (1 << 40,), 'f4')

    @refused('too much for a file of its size')
    def packed_zeros_in_one_chunk_after_the_other(file):
        file.create_dataset('data', (1 << 36, 2, 3), 'f4', chunks=(1 << 20, 2, 3), compression='gzip')
        file['data'][:1 << 20] = 0
        file.create_dataset('label', (1 << 36,), 'f4', chunks=(1 << 20,))

    @refused('links')
    def a_billion_paths(file):
        group = file
        for _ in range(30):
            inner = group.create_group('a')
            group['b'] = inner
            group = inner

    @refused('deeper than')
    def a_deep_hole(file):
        file.create_group('/'.join('a' * 40))

    @refused("no dataset 'data'")
    def circles(file):
        file['a/b'] = file['/']
        file['a/c'] = file['a']
        file['a/d'] = h5py.SoftLink('/a/d')

    @refused('lie in other files')
    def values_of_another_file(file):
        open('secret', 'wb').write(bytes(1000))
        file.create_dataset('data', (4, 2, 3), 'f4', external=[('secret', 0, 96)])
        file['label'] = numpy.zeros(4)

    @refused('lie in other files')
    def values_seen_through_a_window(file):
        layout = h5py.VirtualLayout((4, 2, 3), 'f4')
        layout[:] = h5py.VirtualSource('whole.h5', 'data', (4, 2, 3))
        file.create_virtual_dataset('data', layout)
        file['label'] = numpy.zeros(4)

    @refused("no dataset 'data'")
    def a_link_to_another_file(file):
        file['data'] = h5py.ExternalLink('whole.h5', '/data')

    @refused('does not hold numbers')
    def words(file):
        file['data'], file['label'] = ['a', 'b'], numpy.zeros(2)

    @refused('does not hold numbers')
    def pairs(file):
        file['data'], file['label'] = numpy.zeros(2, [('x', 'f4'), ('y', 'f4')]), numpy.zeros(2)

    print('claims: all refused')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('--rounds', type=int, default=60)
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print('seed', options.seed)
    draw = random.Random(options.seed)
    place = Workplace()
    write('net.prototxt', NET)
    write('rows.prototxt', ROWS_NET)
    write('list.txt', 'rows.h5\n')
    write('solver.prototxt',
          'net: "net.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 4 snapshot_after_train: false')
    write_rows('rows.h5', 1, 20, compression='gzip', chunks=(7, 2, 3))
    write_weights('w.h5')
    write_state('s.h5')
    test = ('test', '--model=net.prototxt', '--weights=w.h5', '--iterations=6')
    check(place, 'rows.h5', 4, draw, options.rounds, 'test', '--model=rows.prototxt', '--weights=w.h5',
          '--iterations=6')
    check_claims(place, test)
    write_rows('rows.h5', 1, 20)
    check(place, 'w.h5', 8, draw, options.rounds, *test)
    check(place, 's.h5', 8, draw, options.rounds, 'train', '--solver=solver.prototxt', '--snapshot=s.h5')


main()
