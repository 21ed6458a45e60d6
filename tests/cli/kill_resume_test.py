"""Trainings that are killed at a random time and resumed yield the weights of an uninterrupted one (kill_resume.py). A
round is a function of the seed and its number: --seed=N --first=R --rounds=1 repeats round R."""
import pytest

from tests.cli import kill_resume


def pytest_generate_tests(metafunc):
    option = metafunc.config.getoption
    metafunc.parametrize('number', range(option('--first'), option('--first') + (option('--rounds') or 6)))


@pytest.fixture(scope='module')
def place(training_folder):
    return training_folder(kill_resume.DrawnPlace)


def test_resumed_training_is_equal_bit_for_bit(place, seed, request, number):
    kill_resume.run_round(place, number, seed, request.config.getoption('--train-flags', ''))
