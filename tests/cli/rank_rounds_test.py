"""Random trainings (drawn_training.py) by 2 to 4 ranks and a random engine have the weights and scores of one rank.

A round is a function of the seed and its number: --seed=N --first=R --rounds=1 repeats round R.
"""
import os, random

from tests.cli.drawn_training import draw_training, text_of

ROUNDS = 6


def test_ranks_have_the_bits_of_one(drawn_place, seed, number, build):
    draw = random.Random('ranks %d/%d' % (seed, number))
    drawn = draw_training(draw)._replace(shards=draw.choice([2, 3, 4]))
    ranks, engine = draw.randint(2, drawn.shards), draw.choice(['shm', 'gloo'])
    if not os.path.exists(build + '/bin/libcortado_%s.so' % engine): engine = 'shm'
    print('%s, by %d ranks, %s' % (text_of(drawn), ranks, engine))
    expected = drawn_place.uninterrupted(drawn)
    drawn_place.begin(drawn)
    ended = drawn_place.finish(drawn, ranks, '--engine=' + engine)[1]
    assert ended.weights == expected.weights
    assert ended.tests == expected.tests
