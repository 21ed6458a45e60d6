"""Links, pipes, unreadable and damaged entries of the studio's folder: pages show the others and name these."""
import os, shutil, subprocess

import pytest

from tests.cli import fixtures
from tests.harness.waiting import wait_until
from tests.studio.studying import Studio

NET = '''layer { name: "d" type: "Data" top: "x" top: "y"
  data_param { source: "data/d/../d/train_lmdb" batch_size: 8 } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }
'''
SOLVER = 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 100000000 snapshot_prefix: "s"\n'
PAGES = ('/api/folder', '/api/datasets', '/api/runs', '/api/texts', '/api/bin', '/api/models', '/api/jobs')


@pytest.fixture
def place(tmp_path, monkeypatch, cortado):
    """A folder with a dataset, the files of a training, and a finished run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('PATH', os.path.dirname(os.path.abspath(cortado)), prepend=os.pathsep)
    (tmp_path / 'data/d').mkdir(parents=True)
    fixtures.lmdb('data/d/train_lmdb')
    (tmp_path / 'net.prototxt').write_text(NET)
    (tmp_path / 'solver.prototxt').write_text(SOLVER)
    fixtures.cortado('train', 'solver.prototxt', '--run=runs/a', '--set', 'solver.max_iter=3')
    return tmp_path


@pytest.fixture
def studio(cortado, place):
    with Studio(cortado, place) as studio: yield studio


def make_odd(place):
    """Odd entries next to the good ones. The unreadable folder matters to users other than root."""
    (place / 'away').symlink_to('/etc')
    (place / 'data/linked').symlink_to(place / 'data/d')
    (place / 'data/other').symlink_to('/nowhere')
    (place / 'runs/link').symlink_to(place / 'runs/a')
    os.mkfifo(place / 'pipe')
    (place / 'lost+found').mkdir(mode=0)
    for name in ('lock', 'log.txt', 'metrics.jsonl', 'run.json'):
        copy = place / 'runs' / ('odd_' + name)
        shutil.copytree(place / 'runs/a', copy)
        if (copy / name).exists(): (copy / name).unlink()
        os.mkfifo(copy / name)
    (place / 'data/damaged/train_lmdb').mkdir(parents=True)
    (place / 'data/damaged/train_lmdb/data.mdb').write_text('x')
    os.mkfifo(place / 'data/damaged/labels.txt')


def test_pages_show_what_they_can(studio, place):
    make_odd(place)
    for page in PAGES: assert studio.ask('GET', page)[0] == 200, page
    listing = studio.get('/api/folder', path='')
    assert {'data', 'runs', 'net.prototxt'} <= {one['name'] for one in listing['entries']}
    assert {one['name']: one['kind'] for one in listing['odd']} == {'away': 'a link', 'pipe': 'a pipe'}
    if os.geteuid() != 0:
        assert [one['name'] for one in listing['entries'] if one.get('unreadable')] == ['lost+found']
    datasets = {one['path']: one for one in studio.get('/api/datasets')}
    assert 'problem' not in datasets['data/d']
    assert datasets['data/linked']['problem'] == 'this is a link'
    assert 'not a regular file' in datasets['data/damaged']['problem']
    runs = {one['path']: one for one in studio.get('/api/runs')}
    assert runs['runs/a']['state'] == 'finished'
    assert runs['runs/odd_lock']['state'] == runs['runs/odd_log.txt']['state'] == 'finished'
    assert runs['runs/odd_metrics.jsonl']['state'] == 'unreadable'
    assert 'not a regular file' in runs['runs/odd_metrics.jsonl']['problem']
    assert 'runs/link' not in runs and 'runs/odd_run.json' not in runs
    for name in ('odd_lock', 'odd_log.txt'):
        assert studio.ask('GET', '/api/run', path='runs/' + name)[0] == 200, name


def test_what_a_running_training_uses_stays(cortado, studio, place):
    """The run is eight folders deep, its dataset is named through "..", its solver has a second name, and 600 other
    runs come first."""
    for i in range(600):
        (place / 'aaa' / str(i)).mkdir(parents=True)
        shutil.copy(place / 'runs/a/run.json', place / 'aaa' / str(i))
    deep = 'z/1/2/3/4/5/6/run'
    training = subprocess.Popen([cortado, 'train', 'solver.prototxt', '--run=' + deep], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: (place / deep / 'run.json').exists(), 'the training has started', 60)
        os.link(place / 'solver.prototxt', place / 'same.prototxt')
        for path in ('data', 'data/d', 'data/d/train_lmdb', 'data/d/train_lmdb/data.mdb', 'z', 'z/1/2', deep,
                     deep + '/run.json', 'solver.prototxt', 'same.prototxt'):
            for target, more in (('/api/delete', {}), ('/api/rename', {'name': 'new'})):
                status, answer = studio.ask('POST', target, {'path': path, **more})[:2]
                assert status == 409 and deep in str(answer), (path, target, status, answer)
        assert studio.ask('POST', '/api/delete', {'path': 'aaa'})[0] == 200
        assert training.poll() is None
    finally:
        training.terminate()
        training.wait(60)
    for path in ('solver.prototxt', 'data', 'z'):
        assert studio.ask('POST', '/api/delete', {'path': path})[0] == 200, path
