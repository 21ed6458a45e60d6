"""Fixtures and options of this folder's tests.

Tests of random trainings take `number`, that of a round. Their module has ROUNDS, the number without --rounds.
"""
import pytest

from tests.cli.drawn_training import DrawnPlace
from tests.cli.training_folder import shared_folder, training_folder
from tests.cli.transcripts import pytest_collect_file


def pytest_addoption(parser):
    parser.addoption('--train-flags', default='', help='flags for `cortado train` in kill_resume_test.py, for example '
                                                       'a device; a random one without it')


def pytest_generate_tests(metafunc):
    rounds = getattr(metafunc.module, 'ROUNDS', None)
    if rounds is None: return
    option = metafunc.config.getoption
    metafunc.parametrize('number', range(option('--first'), option('--first') + (option('--rounds') or rounds)))


@pytest.fixture(scope='module')
def drawn_place(training_folder):
    """A folder for the random trainings of a module."""
    return training_folder(DrawnPlace)
