"""Studios, and their folder with photos."""
import contextlib

import pytest

from tests.harness.devtools import browser
from tests.studio.studying import Studio, add_photos


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """The studio's folder, with photos/CLASS/NUMBER.jpg."""
    return add_photos(tmp_path_factory.mktemp('studio'))


@pytest.fixture(scope='module')
def start_studio(cortado, place):
    """start_studio('--max-body=1') starts a Studio in `place`. Studios that no test stops must exit with 0 at the
    end."""
    with contextlib.ExitStack() as studios:
        yield lambda *flags, **more: studios.enter_context(Studio(cortado, place, *flags, **more))


@pytest.fixture(scope='module')
def studio(start_studio):
    """The studio shared by a module's tests."""
    return start_studio()
