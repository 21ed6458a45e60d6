"""Trainings that are killed at a random time and resumed yield the weights of an uninterrupted one (kill_resume.py). A
round is a function of the seed and its number: --seed=N --first=R --rounds=1 repeats round R."""
from tests.cli import kill_resume

ROUNDS = 6


def test_resumed_training_is_equal_bit_for_bit(drawn_place, seed, request, number):
    kill_resume.run_round(drawn_place, number, seed, request.config.getoption('--train-flags', ''))
