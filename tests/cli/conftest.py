"""Fixtures and options of this folder's tests."""
from tests.cli.training_folder import shared_folder, training_folder
from tests.cli.transcripts import pytest_collect_file


def pytest_addoption(parser):
    parser.addoption('--train-flags', default='', help='flags for `cortado train` in kill_resume_test.py, for example '
                                                       'a device; a random one without it')
