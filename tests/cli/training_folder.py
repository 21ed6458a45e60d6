"""Fixtures for training folders."""
import contextlib, os

import pytest

from tests.cli.workplace import Workplace


@pytest.fixture(scope='module')
def training_folder(cortado):
    """training_folder(iters=5) creates a Workplace with these options, for the module's tests."""
    with contextlib.ExitStack() as places, pytest.MonkeyPatch.context() as patch:
        patch.setenv('PATH', os.environ['PATH'])  # a Workplace sets it
        def made(kind=Workplace, **options):
            place = kind(cortado, **options)
            places.callback(place.cleanup)
            return place
        yield made


@pytest.fixture(scope='module')
def shared_folder(tmp_path_factory):
    """A new folder for all tests of a module; it is the current folder."""
    path = tmp_path_factory.mktemp('shared')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        yield path
