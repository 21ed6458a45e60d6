"""h5py is an independent reader and writer of the program's files."""
import pytest

from tests.cli.training_folder import shared_folder


@pytest.fixture(scope='session', autouse=True)
def built_with_hdf5(helper):
    helper('cortado-hdf5')
