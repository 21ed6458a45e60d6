"""Studios, and the folder of photos in which they run."""
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
    """start_studio('--max-body=1') is a Studio in `place`. Those that no test stops must stop well in the end."""
    with contextlib.ExitStack() as studios:
        yield lambda *flags, **more: studios.enter_context(Studio(cortado, place, *flags, **more))


@pytest.fixture(scope='module')
def studio(start_studio):
    """The studio that a module's tests share."""
    return start_studio()
