"""Several requests to stop a training at once, as from two tabs: the training is stopped once, with its snapshot."""
import concurrent.futures, os

import pytest

from tests.cli import fixtures
from tests.harness.waiting import wait_until
from tests.studio.studying import Studio, kill_runs

NET = '''layer { name: "d" type: "Data" top: "x" top: "y" data_param { source: "train_lmdb" batch_size: 8 } }
layer { name: "big" type: "InnerProduct" bottom: "x" top: "big" inner_product_param { num_output: 200000
  weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "big" top: "ip" inner_product_param { num_output: 4
  weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }
'''
SOLVER = 'net: "net.prototxt" base_lr: 0.0001 lr_policy: "fixed" display: 1 max_iter: 100000000 snapshot_prefix: "s"\n'


@pytest.fixture
def place(tmp_path, monkeypatch, cortado):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('PATH', os.path.dirname(os.path.abspath(cortado)), prepend=os.pathsep)
    fixtures.lmdb('train_lmdb')
    (tmp_path / 'net.prototxt').write_text(NET)
    (tmp_path / 'solver.prototxt').write_text(SOLVER)
    yield tmp_path
    kill_runs(tmp_path)


@pytest.fixture
def studio(cortado, place):
    with Studio(cortado, place) as studio: yield studio


def at_once(*requests):
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as tabs:
        return [one.result() for one in [tabs.submit(*request) for request in requests]]


def run_of(studio): return studio.get('/api/run', path='runs/a')


def trains_on(studio, iter):
    wait_until(lambda: run_of(studio)['iter'] > iter, 'the training goes on', 60)


def snapshots(place): return list((place / 'runs/a/snapshots').glob('*.solverstate'))


@pytest.mark.parametrize('tabs', [2, 5])
def test_stops_at_once_are_one(studio, place, tabs):
    studio.post('/api/runs', name='a', solver='solver.prototxt')
    trains_on(studio, 0)
    answers = at_once(*[(studio.ask, 'POST', '/api/run/stop', {'path': 'runs/a'})] * tabs)
    assert 200 in [status for status, _, _ in answers], answers
    assert {status for status, _, _ in answers} <= {200, 400}, answers  # 400: it had ended before
    assert run_of(studio)['state'] == 'stopped' and snapshots(place)


def test_stop_and_resume_at_once(studio, place):
    """The training either runs on with the new setting or is stopped, and goes on from where it was."""
    studio.post('/api/runs', name='a', solver='solver.prototxt')
    reached = 0
    for turn in range(4):
        trains_on(studio, reached)
        before = run_of(studio)['iter']
        answers = at_once((studio.ask, 'POST', '/api/run/stop', {'path': 'runs/a'}),
                          (studio.ask, 'POST', '/api/run/resume', {'path': 'runs/a', 'set': ['solver.base_lr=%g' % (
                              0.0001 + turn * 1e-5)]}))
        assert {status for status, _, _ in answers} <= {200, 400, 409}, answers
        assert snapshots(place)
        run = run_of(studio)
        assert run['state'] in ('running', 'stopped') and run['iter'] >= before, run
        assert all(int(start['from'].rsplit('_', 1)[1].split('.')[0]) >= 0 for start in run['starts'][1:]), run
        if run['state'] == 'stopped': studio.post('/api/run/resume', path='runs/a')
        reached = before
    studio.post('/api/run/stop', path='runs/a')
