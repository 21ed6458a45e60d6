"""Shared fixtures."""
import shutil

import pytest

from tests.cli.training_folder import training_folder
from tests.cli.transcripts import pytest_collect_file


@pytest.fixture
def place(trained, tmp_path, monkeypatch):
    """A copy of the module's folder `trained`, as the current folder."""
    shutil.copytree(trained, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
