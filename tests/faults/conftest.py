"""Programs, and faults that strike them."""
import concurrent.futures, os, tempfile

import pytest

from tests.faults import shim


@pytest.fixture(scope='session', autouse=True)
def library(helper): shim.LIBRARY = helper('libfault_calls.so')


@pytest.fixture(scope='session')
def every(request):
    """Whether every case is wanted, not a sample."""
    return request.config.getoption('--all')


@pytest.fixture(scope='session')
def rounds(request): return request.config.getoption('--rounds')


@pytest.fixture(scope='module')
def place():
    """A folder, which lies in memory where /dev/shm is one."""
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as place: yield place


@pytest.fixture(scope='module')
def program(request, cortado, place, every, helper):
    """Of the class that is the parameter. One whose child is struck takes --all."""
    if request.param.struck:
        if not every: pytest.skip('it takes --all')
        helper(request.param.struck)
    return request.param(cortado, '%s/%s' % (place, request.param.name))


@pytest.fixture
def strike_all(every, place):
    """strike_all(strike, faults) calls strike(folder, *fault) for each, with a new folder: two at a time; with --all as
    many as there are cores. Fails with all that they assert in vain."""
    def attempt(strike, fault):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            try: strike(folder, *fault)
            except AssertionError as error: return '%s: %s' % (fault, error)

    def strike_all(strike, faults):
        found = []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if every else 2) as pool:
            for number, wrong in enumerate(pool.map(lambda fault: attempt(strike, fault), faults), 1):
                if wrong: found.append(wrong)
                if wrong or number % 200 == 0: print('%d of %d' % (number, len(faults)), wrong or '', flush=True)
        print('%d faults, %d violations' % (len(faults), len(found)))
        assert not found, '\n'.join(found)
    return strike_all
