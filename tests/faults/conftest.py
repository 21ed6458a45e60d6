"""Fixtures: programs under test, and the injection of faults."""
import concurrent.futures, os, tempfile

import pytest

from tests.faults import shim


@pytest.fixture(scope='session', autouse=True)
def library(helper): shim.LIBRARY = helper('libfault_calls.so')


@pytest.fixture(scope='session')
def every(request):
    """Whether to run all cases, not a sample."""
    return request.config.getoption('--all')


@pytest.fixture(scope='session')
def rounds(request): return request.config.getoption('--rounds')


@pytest.fixture(scope='module')
def place():
    """A folder, in memory if /dev/shm is writable."""
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as place: yield place


@pytest.fixture(scope='module')
def program(request, cortado, place, every, helper):
    """An instance of the parameter, a class of programs.py. Faults in a child process are injected with --all only."""
    if request.param.child:
        if not every: pytest.skip('runs with --all only')
        helper(request.param.child)
    return request.param(cortado, '%s/%s' % (place, request.param.name))


@pytest.fixture
def inject_all(every, place):
    """inject_all(inject, faults) calls inject(folder, *fault) for each fault, with a new folder, in two threads; with
    --all in one thread per core. Fails with the messages of all failed assertions."""
    def attempt(inject, fault):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            try: inject(folder, *fault)
            except AssertionError as error: return '%s: %s' % (fault, error)

    def inject_all(inject, faults):
        found = []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if every else 2) as pool:
            for number, wrong in enumerate(pool.map(lambda fault: attempt(inject, fault), faults), 1):
                if wrong: found.append(wrong)
                if wrong or number % 200 == 0: print('%d of %d' % (number, len(faults)), wrong or '', flush=True)
        print('%d faults, %d violations' % (len(faults), len(found)))
        assert not found, '\n'.join(found)
    return inject_all
