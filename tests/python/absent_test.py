"""Cortado without libcortado_python.so, or with an invalid file in its place: an error, or a warning if data is not
read."""
import shutil

import pytest

NET = '''layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 } } }
layer { name: "py" type: "Python" bottom: "x" top: "y" python_param { module: "m" layer: "L" } }
'''


ABSENT = 'this build does not run Python: libcortado_python.so is not next to the program'


@pytest.fixture
def check(cortado, folder, run):
    """check(3, 'words') runs a copy of the program without the library. Not a link, because the program searches the
    library in its real folder."""
    (folder / 'bin').mkdir()
    program = str(shutil.copy(cortado, folder / 'bin'))
    (folder / 'net').write_text(NET)
    def check(code, words, *flags):
        assert words in run('check', 'net', *flags, program=program, code=code, timeout=60).stderr
    return check


def test_without_the_library_a_layer_is_an_error(check):
    check(3, "net:2:26: error: layer 'py' (Python): " + ABSENT)
    check(3, 'hint: apt install python3-dev python3-numpy, then build again')


def test_without_the_library_and_data_a_layer_is_a_warning(check):
    check(0, "layer 'py' (Python) is not run, and its shapes are unknown: " + ABSENT, '--no-data')


def test_file_that_is_not_a_library(check, folder):
    (folder / 'bin/libcortado_python.so').write_text('no library')
    check(3, 'file too short')
    check(0, 'shapes are unknown', '--no-data')


def test_library_of_a_python_that_does_not_start(check, folder, helper, monkeypatch):
    shutil.copy(helper('libcortado_python.so'), folder / 'bin')
    check(3, "module 'm' is not in the working folder")
    monkeypatch.setenv('PYTHONHOME', str(folder))
    check(3, 'cannot start Python')
