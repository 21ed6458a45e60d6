"""Options and fixtures of the tests in Python.

    python3 -m pytest tests/cli/signals_test.py                      one file, with build/bin/cortado
    python3 -m pytest tests/cli --cortado=build-dev/bin/cortado      another program

Randomised tests take --rounds and --seed, and print the seed.
"""
import os, pathlib, random, re, subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption('--cortado', default=str(SOURCE / 'build/bin/cortado'), help='the program under test')
    parser.addoption('--build', help="the program's build folder; default: two folders above it")
    parser.addoption('--rounds', type=int, help='number of random cases; each test has its own default')
    parser.addoption('--seed', type=int, default=1, help='seed of random cases; 0: random')
    parser.addoption('--first', type=int, default=0, help='the number of the first random case')
    parser.addoption('--all', action='store_true', help='run all cases instead of a sample')


def pytest_configure(config):
    program = os.path.abspath(config.getoption('--cortado'))
    os.environ['CORTADO'] = program
    build = config.getoption('--build') or os.path.dirname(os.path.dirname(program))
    os.environ['CORTADO_BUILD'] = os.path.abspath(build)


@pytest.fixture(scope='session')
def cortado():
    """The program's path."""
    path = os.environ['CORTADO']
    assert os.access(path, os.X_OK), '%s is not an executable: build it, or set --cortado' % path
    return path


@pytest.fixture(scope='session')
def build():
    """The build folder's path."""
    return os.environ['CORTADO_BUILD']


@pytest.fixture(scope='session')
def source():
    """The source tree's path."""
    return str(SOURCE)


@pytest.fixture(scope='session')
def seed(request):
    """--seed, which is printed so that a failure can be reproduced."""
    given = request.config.getoption('--seed') or random.randrange(1, 1 << 30)
    print('seed', given)
    return given


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope='session')
def run(cortado):
    """run('check', 'net.prototxt', code=3) runs the program. It fails if the program returns another exit code or
    prints escape codes. Returns subprocess.CompletedProcess with texts."""
    def run(*arguments, code=0, timeout=120, program=None, **options):
        words = [program or cortado, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, **options)
        assert done.returncode == code, '%s: exit %d\n%s' % (' '.join(words), done.returncode, done.stderr[-2000:])
        assert not re.search('\x1b', done.stdout + done.stderr), 'escape codes: %r' % (done.stdout + done.stderr)
        return done
    return run


@pytest.fixture(scope='session')
def helper(cortado):
    """helper('cortado-hdf5') returns that program's path; skips the test if it was not built."""
    def helper(name):
        path = os.path.join(os.path.dirname(cortado), name)
        if not os.path.exists(path): pytest.skip('built without %s' % name)
        return path
    return helper
