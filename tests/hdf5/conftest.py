"""h5py is the independent reader and writer of what the program reads and writes."""
import pytest

from tests.cli.training_folder import shared_folder


@pytest.fixture(scope='session', autouse=True)
def built_with_hdf5(helper):
    helper('cortado-hdf5')
