"""Prepared trainings: which page may discard them, that they go to the bin, and requests of two pages at once."""
import os, random, shutil, threading

import pytest

from tests.harness.waiting import wait_until
from tests.studio.studying import add_squares, kill_runs

EXPECTED = {'prepare': {200, 400, 409, 499}, 'discard': {200, 409}, 'keep': {200, 409}, 'start': {200, 400, 404, 409},
            'delete': {200, 404, 409}}


@pytest.fixture(scope='module')
def place(tmp_path_factory): return add_squares(tmp_path_factory.mktemp('studio'))


@pytest.fixture(scope='module')
def data(studio):
    assert studio.finished(studio.post('/api/datasets', name='d', source='photos', side=8)['job'])['state'] == 'done'
    return 'data/d'


@pytest.fixture
def page(studio, place, data):
    """page('a') asks as the page a does. At the end trainings, runs and the bin are removed."""
    class Page:
        def __init__(self, owner): self.owner = owner
        def ask(self, target, **body): return studio.ask('POST', target, {**body, 'owner': self.owner})
        def prepare(self): return self.ask('/api/trainings', name='t', data=data, epochs=1, **{'from': 'lenet'})
        def discard(self, path='trainings/t'): return self.ask('/api/training/discard', path=path)
        def discards(self, path='trainings/t'):
            status, told, _ = self.discard(path)
            assert status == 200, told
            return told['discarded']
        def keep(self): return self.ask('/api/training/keep', path='trainings/t')
        def start(self, name):
            return self.ask('/api/runs', name=name, solver='trainings/t/solver.prototxt')
        def delete(self): return self.ask('/api/delete', path='trainings/t')
    yield Page
    kill_runs(place)
    for folder in 'trainings', 'runs', '.studio/bin': shutil.rmtree(place / folder, ignore_errors=True)


def is_there(place): return (place / 'trainings/t/solver.prototxt').exists()


def test_a_page_discards_what_it_prepared(page, place):
    first, second = page('first'), page('second')
    assert first.prepare()[0] == 200
    status, told, _ = second.prepare()
    assert status == 409 and 'another page has prepared trainings/t' in told['error']
    assert second.keep()[0] == 409 and not second.discards() and is_there(place)
    assert first.prepare()[0] == 200, 'its own is replaced'
    assert first.discards() and not (place / 'trainings/t').exists()
    assert second.prepare()[0] == 200 and not first.discards() and is_there(place)


def test_started_files_stay(page, place):
    page('a').prepare()
    begun = page('b').start('r')
    assert begun[0] == 200, begun
    assert not page('a').discards() and is_there(place)


def test_a_failed_start_leaves_them_prepared(page, place, studio):
    page('a').prepare()
    status, told, _ = studio.ask('POST', '/api/runs', {'name': 'r', 'solver': 'trainings/t/solver.prototxt',
                                                       'set': ['solver.base_rl=1']})
    assert status == 400 and 'base_lr' in told['error'] and not (place / 'runs/r').exists()
    assert page('a').discards()


def test_copies_and_renamed_ones_stay(page, place, studio):
    page('a').prepare()
    shutil.copytree(place / 'trainings/t', place / 'trainings/copy')
    studio.post('/api/rename', path='trainings/t', name='renamed')
    assert not page('a').discards('trainings/copy') and not page('a').discards('trainings/renamed')
    assert (place / 'trainings/copy/solver.prototxt').exists() and (place / 'trainings/renamed').exists()


def test_discarded_files_are_in_the_bin(page, place, studio):
    page('a').prepare()
    text = (place / 'trainings/t/solver.prototxt').read_text()
    assert page('a').discards()
    (item,) = studio.get('/api/bin')
    assert item['path'] == 'trainings/t'
    studio.post('/api/bin/restore', name=item['name'])
    assert (place / 'trainings/t/solver.prototxt').read_text() == text
    assert not page('a').discards() and is_there(place), 'restored files are the user’s'


def test_leaving_the_page_meanwhile(page, place):
    """Discarding cancels the preparation."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(page('a').prepare()))
    thread.start()
    wait_until((place / 'trainings/t/.prepared').exists, 'it is being prepared', every=0.001)
    assert page('b').discard()[0] == 409
    assert page('a').discard()[0] == 200
    thread.join()
    assert answers[0][0] in (200, 499) and not (place / 'trainings/t').exists(), answers


def test_a_mark_of_other_content(page, place):
    """Files are discarded neither by an empty mark, as earlier versions wrote it, nor by a broken one."""
    for mark in '', '{', '[]', '{"path": 1}', '{"path": "trainings/t", "files": {"solver.prototxt": 1}}':
        (place / 'trainings/t').mkdir(parents=True)
        (place / 'trainings/t/solver.prototxt').write_text('mine')
        (place / 'trainings/t/.prepared').write_text(mark)
        assert not page('').discards() and is_there(place), mark
        assert page('').prepare()[0] == 400 and is_there(place), mark
        shutil.rmtree(place / 'trainings/t')


def test_two_pages_at_once(page, place, seed):
    """All answers are expected ones, and what was prepared is in its place or in the bin."""
    answers, rounds = [], int(os.environ.get('CORTADO_PREPARATION_ROUNDS', 40))
    def act(owner):
        draw = random.Random('%d %s' % (seed, owner))
        for i in range(rounds // 2):
            one = page(draw.choice(['same', owner]))
            kind = draw.choice(['prepare', 'prepare', 'discard', 'discard', 'keep', 'start', 'delete'])
            words = ['%s%d' % (owner, i)] if kind == 'start' else []
            answers.append((kind, *getattr(one, kind)(*words)[:2]))
    tabs = [threading.Thread(target=act, args=(owner,)) for owner in 'ab']
    for tab in tabs: tab.start()
    for tab in tabs: tab.join()
    assert len(answers) == rounds // 2 * 2
    for kind, status, told in answers: assert status in EXPECTED[kind], (kind, status, told)
    prepared = sum(kind == 'prepare' and status == 200 for kind, status, _ in answers)
    assert prepared and len([*place.glob('trainings/*/solver.prototxt'),
                             *place.glob('.studio/bin/*/solver.prototxt')]) >= prepared
