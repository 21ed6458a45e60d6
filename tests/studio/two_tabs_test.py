"""Two pages that do all kinds of things with one folder at random, while trainings run. No answer is an internal error,
nothing is lost that was not deleted for good, and what trainings use stays. CORTADO_TWO_TABS_SECONDS is how long."""
import json, os, random, threading, time

import pytest

from tests.studio.studying import Studio, add_squares, kill_runs, state_of

NET = 'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 } } }\n'
EXPECTED = {200, 400, 404, 409, 499}
PAGES = ['/api/runs', '/api/datasets', '/api/texts', '/api/bin', '/api/jobs', '/api/folder',
         '/api/folder?path=trainings', '/api/folder?path=runs', '/api/folder?path=photos',
         '/api/text?path=nets/n1.prototxt', '/api/starts?data=data/d1']


def names_of(folder): return sorted(os.listdir(folder)) if folder.exists() else []


def last_event(run):
    """The last of a run's metrics."""
    try: lines = (run / 'metrics.jsonl').read_text().splitlines()
    except FileNotFoundError: return {}  # renamed just now
    return json.loads(lines[-1]) if lines else {}


def failed_itself(place, process):
    """Whether an error ended the training: a new dataset of the same name may have other classes."""
    runs = [path.parent for path in place.rglob('run.json')
            if json.loads(path.read_text())['starts'][-1]['pid'] == process]
    return any(last_event(run).get('ev') in ('error', 'nan') for run in runs)


class Tabs:
    """What both pages know: what was accepted."""
    def __init__(self, studio, place):
        self.studio, self.place, self.lock = studio, place, threading.Lock()
        self.count, self.saved, self.replaced, self.uploads, self.prepared, self.datasets = 0, [], [], [], 0, 0
        self.begun, self.touched, self.faults = {}, set(), []

    def next(self):
        with self.lock:
            self.count += 1
            return self.count

    def running(self): return [process for process in self.begun.values() if state_of(process)[0] != 'Z']


class Tab:
    def __init__(self, tabs, name, seed):
        self.tabs, self.name, self.draw = tabs, name, random.Random('%s %s' % (name, seed))

    def ask(self, method, target, body=None, **parameters):
        status, told, _ = self.tabs.studio.ask(method, target, body, **parameters)
        busy = status == 503 and 'four jobs' in str(told)
        if status not in EXPECTED and not busy: self.tabs.faults.append((target, body or parameters, status, told))
        return told if status == 200 else None

    def post(self, target, **body): return self.ask('POST', target, body)

    def some(self, folder):
        names = names_of(self.tabs.place / folder)
        return folder + '/' + self.draw.choice(names) if names else None

    def read(self): self.ask('GET', self.draw.choice(PAGES))

    def read_run(self):
        if path := self.some('runs'):
            self.ask('GET', self.draw.choice(['/api/run', '/api/run/metrics', '/api/run/report']), path=path)
            self.post('/api/runs/compare', paths=[path])

    def read_dataset(self):
        if path := self.some('data'):
            self.ask('GET', '/api/dataset', path=path)
            self.post('/api/dataset/read', path=path)
            self.post('/api/dataset/pictures', path=path, set='train', first=3)
            self.post('/api/sheet', path=path, count=2)

    def save(self):
        path = 'nets/n%d.prototxt' % self.draw.randrange(3)
        old = self.ask('GET', '/api/text', path=path)
        text = NET + '# %d\n' % self.tabs.next()
        if self.post('/api/text', path=path, text=text, digest=old['digest'] if old else ''):
            with self.tabs.lock:
                self.tabs.saved.append(text)
                if old: self.tabs.replaced.append(old['text'])

    def prepare(self):
        if self.post('/api/trainings', name='t%d' % self.draw.randrange(3), data='data/d%d' % self.draw.randrange(2),
                     owner=self.name, epochs=100000, **{'from': 'lenet'}):
            with self.tabs.lock: self.tabs.prepared += 1

    def keep(self): self.of_prepared('keep')
    def discard(self): self.of_prepared('discard')

    def of_prepared(self, what):
        self.post('/api/training/' + what, path='trainings/t%d' % self.draw.randrange(3), owner=self.name)

    def start(self):
        if len(self.tabs.running()) >= 2 or not (training := self.some('trainings')): return
        path = 'runs/r%d' % self.tabs.next()
        begun = self.post('/api/runs', name=path[5:], solver=training + '/solver.prototxt', threads=1)
        if begun:
            with self.tabs.lock: self.tabs.begun[path] = begun.get('process', 0)

    def stop(self):
        path = self.change_run('/api/run/stop')
        folder = self.tabs.place / path if path else None
        if not path or list(folder.glob('snapshots/*.solverstate')) or not folder.exists(): return
        last = last_event(folder)
        if last.get('ev') == 'stop' and last['iter'] > 0: self.tabs.faults.append(('no snapshot', path))

    def resume(self): self.change_run('/api/run/resume', set=['solver.base_lr=%g' % self.draw.uniform(1e-6, 1e-5)])

    def change_run(self, target, **more):
        if not (path := self.some('runs')): return
        with self.tabs.lock: self.tabs.touched.add(path)
        begun = self.post(target, path=path, **more)
        if begun and 'process' in begun:
            with self.tabs.lock: self.tabs.begun[path + ' resumed %d' % begun['process']] = begun['process']
        return path if begun is not None else None

    def snapshot(self):
        if path := self.some('runs'): self.post('/api/run/snapshot', path=path)

    def rename(self):
        if path := self.some(self.draw.choice(['nets', 'runs', 'trainings', 'photos', 'data'])):
            end = '.prototxt' if path.startswith('nets') else '.ppm' if path.endswith('.ppm') else ''
            self.post('/api/rename', path=path, name='x%d%s' % (self.tabs.next(), end))

    def delete(self):
        if path := self.some(self.draw.choice(['nets', 'runs', 'trainings', 'photos', 'data'])):
            self.post('/api/delete', path=path)

    def restore(self):
        items = self.ask('GET', '/api/bin')
        if items: self.post('/api/bin/restore', name=self.draw.choice(items)['name'])

    def upload(self):
        content = b'P6\n1 1\n255\n' + os.urandom(3) + b'# %d' % self.tabs.next()
        path = 'photos/extra/%d.ppm' % self.tabs.next()
        if self.ask('POST', '/api/upload', content, path=path): self.tabs.uploads.append(content)

    def dataset(self):
        self.post('/api/datasets', name='d%d' % self.draw.randrange(2), source='photos', side=8)

    def run(self, until):
        acts = [self.read, self.save] * 4 + [self.read_run, self.read_dataset] * 2 + [
            self.prepare, self.prepare, self.keep, self.discard, self.start, self.start, self.stop, self.resume,
            self.snapshot, self.rename, self.delete, self.restore, self.restore, self.upload, self.dataset]
        while time.monotonic() < until and not self.tabs.faults:
            act = self.draw.choice(acts)
            try: act()
            except Exception as error: self.tabs.faults.append((act.__name__, repr(error)))
            for process, path in self.lost_inputs(): self.tabs.faults.append(('lost', process, path))

    def lost_inputs(self):
        """Files that running trainings were started with, and that are not there."""
        for record in self.tabs.place.glob('runs/*/run.json'):
            try: run = json.loads(record.read_text())
            except FileNotFoundError: continue  # renamed just now
            process = run['starts'][-1]['pid']
            paths = [os.path.join(run['folder'], one['path']) for one in run['inputs']]
            gone = [path for path in paths if not os.path.exists(path)]
            if gone and state_of(process)[0] != 'Z' and record.exists(): yield process, gone


@pytest.fixture
def place(tmp_path):
    (tmp_path / 'nets').mkdir()
    for i in range(3): (tmp_path / ('nets/n%d.prototxt' % i)).write_text(NET + '# first %d\n' % i)
    yield add_squares(tmp_path)
    kill_runs(tmp_path)


def test_two_tabs(cortado, place, seed):
    with Studio(cortado, place) as studio:
        for name in 'd0', 'd1':
            job = studio.finished(studio.post('/api/datasets', name=name, source='photos', side=8)['job'])
            assert job['state'] == 'done', job
        tabs = Tabs(studio, place)
        until = time.monotonic() + float(os.environ.get('CORTADO_TWO_TABS_SECONDS', 15))
        threads = [threading.Thread(target=Tab(tabs, name, seed).run, args=(until,)) for name in 'ab']
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not tabs.faults, (seed, tabs.faults)
        assert tabs.saved and tabs.prepared, 'nothing was done'
        assert len(set(tabs.replaced)) == len(tabs.replaced), 'two saves replaced the same text'
        texts = [path.read_text() for path in place.rglob('*.prototxt')]
        lost = [text for text in tabs.saved if text not in tabs.replaced and text not in texts]
        assert not lost, (seed, lost)
        images = [path.read_bytes() for path in place.rglob('*.ppm')]
        assert all(one in images for one in tabs.uploads), seed
        assert len(images) >= 24 + len(tabs.uploads), seed
        assert len(list(place.rglob('train_lmdb/data.mdb'))) >= 2, seed
        assert len(list(place.rglob('deploy.prototxt'))) >= tabs.prepared, seed
        begun = [path for path in tabs.begun if 'resumed' not in path]
        assert len(list(place.rglob('run.json'))) >= len(begun), (seed, begun)
        for path, process in tabs.begun.items():
            is_lost = process and path not in tabs.touched and 'resumed' not in path and state_of(process)[0] == 'Z'
            assert not is_lost or failed_itself(place, process), (seed, path, process)
