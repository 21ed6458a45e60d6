"""A studio that is killed at random moments of each operation. After the next start nothing of it is left: no hidden or
temporary files, no processes, and all names can be used."""
import concurrent.futures, http.client, os, random, shutil, threading, time

import pytest

from tests.harness.waiting import wait_until
from tests.studio.studying import Studio, add_squares, kill_runs

NET = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }\n'
BIG = b'P6\n2000 1500\n255\n' + bytes(2000 * 1500 * 3)


def job(studio, target, **body):
    """Starts a job and waits for its end."""
    number = studio.post(target, **body)['job']
    while (state := studio.get('/api/job', id=number)['state']) == 'running': time.sleep(0.01)
    assert state == 'done'


def upload(studio): assert studio.ask('POST', '/api/upload', BIG, path='photos/big.ppm')[0] == 200

def save(studio):
    digest = studio.get('/api/text', path='nets/net.prototxt')['digest']
    for i in range(20):
        digest = studio.post('/api/text', path='nets/net.prototxt', text=NET + '# %d\n' % i, digest=digest)['digest']

def prepare(studio): studio.post('/api/trainings', name='made', data='data/d', epochs=1, **{'from': 'lenet'})

def discard(studio):
    prepare(studio)
    studio.post('/api/training/discard', path='trainings/made')

def bin_and_back(studio):
    for _ in range(5):
        name = studio.post('/api/delete', path='photos/red')['name']
        studio.post('/api/bin/restore', name=name)

def for_good(studio):
    studio.post('/api/folder', path='photos/made')
    studio.post('/api/bin/delete', name=studio.post('/api/delete', path='photos/made')['name'])

def sheet(studio): studio.post('/api/sheet', path='data/d', transform={'flip_h': 0.5})
def pictures(studio): studio.post('/api/dataset/pictures', path='data/d', set='train', first=5)
def check(studio): studio.post('/api/check', text=NET)
def draw(studio): studio.post('/api/draw', text=NET)
def report(studio): assert studio.ask('GET', '/api/run/report', path='runs/done')[0] == 200
def dataset(studio): job(studio, '/api/datasets', name='made', source='photos', side=600)
def read(studio): job(studio, '/api/dataset/read', path='data/d')

def boxes(studio): job(studio, '/api/datasets', name='made', source='boxes', side=100, kind='boxes')

def look(studio):
    name = studio.get('/api/run', path='runs/done')['snapshots'][0]['name']
    assert studio.ask('POST', '/api/look', b'', run='runs/done', snapshot=name, layer='conv1')[0] == 200

def start(studio):
    studio.post('/api/runs', name='made', solver='trainings/base/solver.prototxt')


OPERATIONS = [upload, save, prepare, discard, bin_and_back, for_good, sheet, pictures, check, draw, report, dataset,
              boxes, read, look, start]


def add_boxes(folder):
    (folder / 'boxes').mkdir()
    for i in range(12):
        shutil.copy(folder / ('photos/red/%d.ppm' % (2 * i)), folder / ('boxes/%d.ppm' % i))
        (folder / ('boxes/%d.txt' % i)).write_text('1 1 1 5 5\n')


def processes_with(setting):
    """The running processes that have this in their environment."""
    found = []
    for process in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/environ' % process, 'rb') as file: has = setting.encode() in file.read().split(b'\0')
            if has: found.append(process)
        except OSError: pass
    return found


def processes_in(place): return processes_with('TMPDIR=%s' % (place.parent / 'temporary'))


def forget(studio, place):
    """Removes what the operation made, in the ways that a user has."""
    for path in 'data/made', 'trainings/made', 'runs/made', 'photos/big.ppm', 'photos/made':
        if (place / path).exists(): studio.post('/api/delete', path=path)
    for item in studio.get('/api/bin'):
        if item['path'] == 'photos/red': studio.post('/api/bin/restore', name=item['name'])
        else: studio.post('/api/bin/delete', name=item['name'])


def left_in(place):
    """Files that no user would expect."""
    left = [path for path in (place.parent / 'temporary').iterdir()]
    for path in place.rglob('*'):
        name = path.relative_to(place).as_posix()
        if '.tmp.' in name: left.append(path)
        elif '/.' in '/' + name and not name.startswith('.studio/bin') and not (
                path.name == '.prepared' and '"files":{' in path.read_text()) and not (
                path.parent.name == '.studio' and (path.suffix == '.log' or path.is_dir())) and path.name != '.studio':
            left.append(path)
    bin = place / '.studio/bin'
    return left + [one for one in bin.glob('*.json') if not one.with_suffix('').exists()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / 'temporary').mkdir()
    monkeypatch.setenv('TMPDIR', str(tmp_path / 'temporary'))
    (tmp_path / 'work/nets').mkdir(parents=True)
    (tmp_path / 'work/nets/net.prototxt').write_text(NET)
    yield add_squares(tmp_path / 'work')
    kill_runs(tmp_path / 'work')


def test_killed(cortado, place, seed):
    draw_moment, took = random.Random(seed), {}
    add_boxes(place)
    with Studio(cortado, place) as studio:
        job(studio, '/api/datasets', name='d', source='photos', side=16)
        studio.post('/api/trainings', name='base', data='data/d', epochs=1, **{'from': 'lenet'})
        studio.post('/api/training/keep', path='trainings/base')
        studio.post('/api/runs', name='done', solver='trainings/base/solver.prototxt')
        wait_until(lambda: studio.get('/api/run', path='runs/done')['state'] == 'finished', 'it ends')
        for operation in OPERATIONS:
            began = time.monotonic()
            operation(studio)
            took[operation] = time.monotonic() - began
            wait_until(lambda: len(processes_in(place)) == 1, 'only the studio runs')
            forget(studio, place)
    for turn in range(int(os.environ.get('CORTADO_KILLS', len(OPERATIONS)))):
        operation = OPERATIONS[turn % len(OPERATIONS)]
        kill_during(Studio(cortado, place), operation, draw_moment.uniform(0, took[operation]))
        wait_until(lambda: not processes_in(place), 'all processes end', 20)
        with Studio(cortado, place) as studio:
            where = 'killed in turn %d, %s' % (turn, operation.__name__)
            assert not left_in(place), where
            forget(studio, place)
            operation(studio)
            wait_until(lambda: len(processes_in(place)) == 1, 'only the studio runs')
            forget(studio, place)
        assert not left_in(place), where
        assert len(list(place.glob('photos/*/*.ppm'))) == 24, where


@pytest.mark.parametrize('operation', [upload, save, prepare, bin_and_back, dataset, boxes, sheet])
def test_what_another_studio_does_stays(cortado, place, operation):
    """Studios that start meanwhile for the same folder remove nothing of it."""
    add_boxes(place)
    with Studio(cortado, place) as studio, concurrent.futures.ThreadPoolExecutor() as tabs:
        job(studio, '/api/datasets', name='d', source='photos', side=16)
        for _ in range(2):
            working = tabs.submit(operation, studio)
            while not working.done():
                with Studio(cortado, place): pass
            working.result()
            forget(studio, place)
    assert not left_in(place)


def kill_during(studio, operation, seconds):
    def run():
        try: operation(studio)
        except (OSError, http.client.HTTPException, AssertionError): pass  # it was killed
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(seconds)  # the moment is what is tested
    studio.process.kill()
    studio.process.wait()
    thread.join()
