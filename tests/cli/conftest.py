"""What the tests of this folder share."""
from tests.cli.training_folder import shared_folder, training_folder
from tests.cli.transcripts import pytest_collect_file


def pytest_addoption(parser):
    parser.addoption('--train-flags', default='', help='more for `cortado train` in kill_resume_test.py: its device, '
                                                       'in place of a random one')
