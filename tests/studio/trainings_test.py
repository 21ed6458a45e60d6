"""Trainings through the studio's API: started, followed, stopped, resumed, and outliving the studio."""
import json, os, re, shutil, signal, socket, time

import cv2, numpy, pytest

from tests.harness.waiting import wait_until
from tests.studio.studying import TOKEN, first_photo, kill_runs, state_of


class Feed:
    """Server-sent events of a path."""
    def __init__(self, studio, target):
        self.socket = socket.create_connection(('127.0.0.1', studio.port), timeout=60)
        self.socket.sendall(('GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n'
                             % (target, studio.port, TOKEN)).encode())
        self.rest = b''

    def next(self, kind):
        """The data of the next event of this kind."""
        while True:
            while b'\n\n' not in self.rest:
                part = self.socket.recv(65536)
                assert part, 'the feed ended'
                self.rest += part
            event, self.rest = self.rest.split(b'\n\n', 1)
            lines = event.decode().split('\n')
            if 'event: ' + kind in lines:
                return json.loads('\n'.join(line[6:] for line in lines if line.startswith('data: ')))


@pytest.fixture
def studio(start_studio):
    """A studio for each test, which may stop it."""
    with start_studio() as studio: yield studio


@pytest.fixture(scope='module')
def solver(start_studio):
    """The solver of a classifier on the dataset data/cloths."""
    with start_studio() as studio:
        job = studio.finished(studio.post('/api/datasets', name='cloths', source='photos', side=28, gray=True)['job'])
        assert job['state'] == 'done', job
        project = studio.post('/api/trainings', name='first', data='data/cloths', **{'from': 'lenet', 'epochs': 2000})
        assert project['solver'] == 'trainings/first/solver.prototxt' and project['choices'] and project['seconds'] > 0
        return project['solver']


@pytest.fixture
def training(studio, place, solver):
    """The process of the running training runs/first."""
    begun = studio.post('/api/runs', name='first', solver=solver)
    assert begun['path'] == 'runs/first' and begun['process'] > 0
    wait_for(studio, lambda run: run['iter'] > 0)
    yield begun['process']
    kill_runs(place)
    shutil.rmtree(place / 'runs')


def wait_for(studio, condition):
    """Waits until the condition is true of the run."""
    wait_until(lambda: condition(studio.get('/api/run', path='runs/first')), 'the run comes to that')


def test_a_copied_training(studio, place, solver):
    """The editor's check and a start read the copy's files, whose paths are relative to them."""
    shutil.copytree(place / 'trainings/first', place / 'trainings/copy')
    text = (place / solver).read_text()
    for path in (solver, 'trainings/copy/solver.prototxt', 'trainings/copy/new.prototxt'):
        report = studio.post('/api/check', text=text, path=path, data=True)
        assert report['kind'] == 'solver' and not report['mistakes'] and report['nets'] == 2, report
    (place / 'trainings/copy/train_val.prototxt').write_text('layer { name: "x" type: "Nothing" }')
    assert not studio.post('/api/check', text=text, path=solver)['mistakes']
    assert studio.post('/api/check', text=text, path='trainings/copy/solver.prototxt')['mistakes']
    for path in ('../solver.prototxt', '/etc/solver.prototxt'):
        assert studio.ask('POST', '/api/check', {'text': text, 'path': path})[0] in (403, 404), path
    shutil.rmtree(place / 'trainings/copy')


def test_prepared_files(studio, place, solver):
    """What was prepared and not started can be discarded, and is replaced; but not what the user changed or kept."""
    def write(name, text='mine'):  # as old as the files are
        changed = os.stat(place / path / 'solver.prototxt').st_mtime - 5
        (place / path / name).write_text(text), os.utime(place / path / name, (changed,) * 2)
    def prepare(): return studio.post('/api/trainings', name='next', data='data/cloths', epochs=1)['path']
    def discard(path): return studio.post('/api/training/discard', path=path)['discarded']
    path = prepare()
    assert path == prepare() == 'trainings/next', 'the name is free until the training starts'
    assert discard(path) and not (place / path).exists() and not discard(path)
    for change in (lambda: (place / path / 'notes.txt').write_text('mine'),
                   lambda: (place / path / '.notes').write_text('mine'),
                   lambda: (place / path / 'link.prototxt').symlink_to('solver.prototxt'),
                   lambda: write('solver.prototxt'), lambda: write('own.prototxt'),
                   lambda: (place / path / 'labels.txt').unlink(),
                   lambda: (place / path / 'snapshots/x.caffemodel').write_text(''),
                   lambda: studio.post('/api/training/keep', path=path)):
        prepare(), change()
        assert not discard(path) and (place / path / 'solver.prototxt').exists()
        status, told, _ = studio.ask('POST', '/api/trainings', {'name': 'next', 'data': 'data/cloths'})
        assert status == 400 and 'trainings/next exists already' in told['error']
        shutil.rmtree(place / path)
    assert studio.ask('POST', '/api/trainings', {'name': 'next', 'data': 'photos'})[0] == 400
    assert not (place / path).exists(), 'a failed preparation leaves files'
    for other in 'data/cloths', 'trainings/../photos', 'trainings/', '':
        status, told, _ = studio.ask('POST', '/api/training/discard', {'path': other})
        assert status == 400 or not told['discarded'], other
    assert (place / solver).exists() and (place / 'data/cloths').exists() and (place / 'photos').exists()


def test_begin(studio, solver, training):
    assert os.getsid(training) == training, 'in its own session'
    status, told, _ = studio.ask('POST', '/api/runs', {'name': 'first', 'solver': solver})
    assert status == 400 and 'already' in told['error']


def test_stopped_job(studio, place, solver):
    """A stopped conversion leaves no files."""
    job = studio.post('/api/datasets', name='large', source='photos', side=1000)['job']
    wait_until(lambda: list(place.glob('data/large.tmp.*')), 'the temporary dataset exists')
    studio.post('/api/job/stop', id=job)
    assert studio.finished(job)['state'] == 'stopped'
    assert os.listdir(place / 'data') == ['cloths']


def test_errors(studio, place, training):
    """A training that cannot start reports the reason, and leaves no run."""
    (place / 'bad_solver.prototxt').write_text(
        'net: "none.prototxt"\nbase_lr: 0.1\nlr_policy: "fixed"\nmax_iter: 10\n')
    status, told, _ = studio.ask('POST', '/api/runs', {'name': 'bad', 'solver': 'bad_solver.prototxt'})
    assert status == 400 and 'none.prototxt' in told['error']
    assert [one['path'] for one in studio.get('/api/runs')] == ['runs/first']
    assert os.listdir(place / 'runs') == ['first'], 'the name is free again'
    for target in '/api/run/stop', '/api/run/snapshot', '/api/run/resume':
        assert studio.ask('POST', target, {'path': 'photos'})[0] == 404, target


def test_feeds(studio, training):
    feed, runs = Feed(studio, '/api/run/feed?path=runs/first'), Feed(studio, '/api/runs/feed')
    first = feed.next('metrics')
    assert first['text'].endswith('\n') and json.loads(first['text'].split('\n')[0])['ev']
    assert feed.next('metrics')['next'] > first['next'], 'it grows'
    assert 'Iteration' in feed.next('log')['text']
    state = feed.next('state')
    assert state['state'] == 'running' and state['max_iter'] > 0
    listed = runs.next('runs')
    assert [one['path'] for one in listed] == ['runs/first'] and listed[0]['state'] == 'running'
    again = studio.get('/api/run/metrics', path='runs/first', **{'from': first['next']})
    assert again['next'] > first['next'] and json.loads(again['text'].split('\n')[0])['iter'] >= 0
    assert studio.get('/api/run/metrics', path='runs/first')['text'].startswith(first['text']), 'from the first byte'


def test_snapshot(studio, place, training):
    studio.post('/api/run/snapshot', path='runs/first')
    wait_for(studio, lambda run: run['snapshots'])
    name = studio.get('/api/run', path='runs/first')['snapshots'][0]['name']
    image, wanted = first_photo(place, 'bag').read_bytes(), {'run': 'runs/first', 'snapshot': name}
    status, seen, _ = studio.ask('POST', '/api/look', image, **wanted, blob='conv1', layer='conv1')
    assert status == 200, seen
    (answer,) = seen['images']
    assert answer['size'] == [28, 28] and abs(sum(one['probability'] for one in answer['classes']) - 1) < 1e-3
    activations = seen['activations']
    assert activations['shape'][:2] == [1, 20] and activations['picture']['planes'] == 20
    assert seen['weights']['shape'] == [20, 1, 5, 5] and sum(seen['weights']['histogram']['counts']) == 500
    for parameters in {'blob': 'none'}, {'layer': 'none'}:
        status, told, _ = studio.ask('POST', '/api/look', image, **wanted, **parameters)
        assert status == 400 and 'none' in told['error']
    parts = [image, b'GIF89a', image[:200], image]
    sizes = ','.join(str(len(one)) for one in parts)
    status, seen, _ = studio.ask('POST', '/api/look', b''.join(parts), **wanted, sizes=sizes)
    first, gif, short, last = seen['images']
    assert first == last == answer, 'broken images change the others'
    assert gif['error'] == 'not an image that can be read: it is not a JPEG, PNG, WebP, BMP, PGM or PPM file'
    assert short['error'] == 'not an image that can be read: the JPEG cannot be decoded: Premature end of JPEG file'
    pixels = cv2.imdecode(numpy.frombuffer(image, numpy.uint8), cv2.IMREAD_COLOR)
    offered = re.search(r'kServed = (.*);', studio.ask('GET', '/formats.js')[1].decode())[1]
    for ending in json.loads(offered.replace("'", '"')):
        as_stored = pixels[:, :, 0] if ending == '.pgm' else pixels
        status, seen, _ = studio.ask('POST', '/api/look', cv2.imencode(ending, as_stored)[1].tobytes(), **wanted)
        assert status == 200 and seen['images'][0].get('size') == [28, 28], (ending, seen)
    for sizes in '1', '0,%d' % len(image), '-1', '%d,1' % len(image), str(2**63 - 1), 'x', ','.join('1' * 65):
        status, told, _ = studio.ask('POST', '/api/look', image, **wanted, sizes=sizes)
        assert status == 400 and ('sizes' in told['error'] or 'at most 64' in told['error']), sizes


def test_training_outlives_its_studio(studio, start_studio, training):
    studio.stop()
    os.kill(training, 0)
    one = start_studio().get('/api/run', path='runs/first')
    assert one['state'] == 'running' and one['process'] == training


def test_resume(studio, training):
    studio.post('/api/run/stop', path='runs/first')
    stopped = studio.get('/api/run', path='runs/first')
    assert stopped['state'] == 'stopped' and stopped['iter'] > 0
    assert studio.ask('POST', '/api/run/stop', {'path': 'runs/first'})[0] == 400, 'it is stopped already'
    studio.post('/api/run/resume', path='runs/first')
    wait_for(studio, lambda run: run['iter'] > stopped['iter'])
    studio.post('/api/run/resume', path='runs/first', set=['solver.base_lr=0.00125'])  # stops it first
    one = studio.get('/api/run', path='runs/first')
    assert [start['set'] for start in one['starts']] == [[], [], ['solver.base_lr=0.00125']]
    status, told, _ = studio.ask('POST', '/api/run/resume', {'path': 'runs/first', 'set': ['solver.base_rl=1']})
    assert status == 400 and 'base_lr' in told['error']
    assert studio.get('/api/run', path='runs/first')['state'] == 'running', 'an invalid setting stopped it'
    wait_for(studio, lambda run: run['iter'] > one['iter'])


def test_used_files(studio, place, training):
    """What a running training uses is neither renamed nor deleted."""
    used = ['runs/first', 'runs', 'runs/first/log.txt', 'data/cloths', 'data/cloths/train_lmdb', 'data',
            'trainings/first', 'trainings/first/solver.prototxt']
    for path in used:
        for write, more in (('/api/delete', {}), ('/api/rename', {'name': 'other'})):
            status, told, _ = studio.ask('POST', write, {'path': path, **more})
            assert status == 409 and 'running training runs/first' in told['error'], (write, path, told)
        assert (place / path).exists()
    studio.post('/api/run/stop', path='runs/first')
    name = studio.post('/api/delete', path='runs/first')['name']
    assert studio.get('/api/runs') == []
    studio.post('/api/bin/restore', name=name)
    assert studio.get('/api/run', path='runs/first')['state'] == 'stopped'


def test_report(studio, training):
    status, page, headers = studio.ask('GET', '/api/run/report', path='runs/first')
    assert status == 200 and page.lower().startswith(b'<!doctype html>') and b'runs/first' in page
    assert 'sandbox allow-scripts' in headers['Content-Security-Policy']
    assert studio.ask('GET', '/api/run/report', path='photos')[0] == 404


def test_killed(studio, training):
    os.kill(training, signal.SIGKILL)
    wait_for(studio, lambda run: run['state'] == 'killed')


def test_idle(studio, place, training):
    """With five runs and no open page: at most 1 % of a core."""
    os.kill(training, signal.SIGKILL)
    wait_for(studio, lambda run: run['state'] == 'killed')
    for i in range(4): shutil.copytree(place / 'runs/first', place / ('runs/copy%d' % i))
    assert len(studio.get('/api/runs')) == 5
    one, other = studio.post('/api/runs/compare', paths=['runs/first', 'runs/copy1'])
    assert one['settings'] == other['settings'] and not other['net']
    assert one['settings']['data'].startswith('data/cloths/')
    before, start = cpu_seconds(studio.process.pid), time.time()
    time.sleep(4)  # what is measured
    assert cpu_seconds(studio.process.pid) - before <= 0.01 * (time.time() - start)


def cpu_seconds(process): return sum(map(int, state_of(process)[11:13])) / os.sysconf('SC_CLK_TCK')
