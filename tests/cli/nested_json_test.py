"""JSON with a nesting of 100000 levels, and values of unexpected types, in every input: annotations, records and
metrics of runs, the cache of kernel choices, requests to the studio. The result is a message, never a crash or a hang.
"""
import http.client, json, os, pathlib, re, signal, subprocess

import pytest

from tests.cli import fixtures

DEEP = '[' * 100000 + ']' * 100000
DEEP_OBJECTS = '{"a":' * 100000 + '1' + '}' * 100000
UNCLOSED = '[' * 100000
TOKEN = 'a-token-for-tests-0123456789'


@pytest.fixture
def home(folder, cortado, monkeypatch):
    """The path of the cache of kernel choices, in a home folder with a net to train."""
    monkeypatch.setenv('PATH', os.path.dirname(cortado), prepend=':')
    fixtures.lmdb('train_lmdb', n=16, h=8, w=8)
    fixtures.small_net()
    fixtures.small_solver(iters=2, more='test_iter: 1 test_interval: 2')
    monkeypatch.setenv('HOME', str(folder))
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    cache = folder / '.cache/cortado/choices.json'
    cache.parent.mkdir(parents=True)
    return cache


@pytest.mark.parametrize('deep', [DEEP, DEEP_OBJECTS, UNCLOSED], ids=['lists', 'objects', 'unclosed'])
@pytest.mark.parametrize('place', ['whole', 'id', 'bbox', 'segmentation'])
def test_annotations(folder, run, deep, place):
    fixtures.ppm('a.ppm')
    values = {'id': '1', 'bbox': '[1, 1, 4, 4]', 'segmentation': '[]', place: deep}
    text = deep if place == 'whole' else '''{"images": [{"id": 1, "file_name": "a.ppm", "height": 8, "width": 8}],
        "categories": [{"id": 1, "name": "cat"}], "annotations": [{"id": %(id)s, "image_id": 1, "category_id": 9,
        "bbox": %(bbox)s, "segmentation": %(segmentation)s}]}''' % values
    pathlib.Path('set.json').write_text(text)
    done = run('convert', 'annoset', './', 'set.json', '-o', 'out', code=4)
    assert 'set.json' in done.stderr and 'deeper' in done.stderr and len(done.stderr) < 2000
    assert not os.path.exists('out')


@pytest.fixture
def a_run(home, run):
    """A run whose record and rows the tests then damage."""
    run('train', 'solver.prototxt', '--run=runs/r')
    return pathlib.Path('runs/r')


def edit_record(folder, **changes):
    record = json.loads((folder / 'run.json').read_text())
    record.update((name, '@' + name) for name in changes)
    text = json.dumps(record)
    for name, value in changes.items(): text = text.replace('"@%s"' % name, value)
    (folder / 'run.json').write_text(text)


@pytest.mark.parametrize('field', ['command', 'flags', 'machine', 'inputs', 'starts', 'schema'])
def test_records_of_runs(a_run, run, field):
    edit_record(a_run, **{field: DEEP})
    assert 'not the record of a run' in run('runs', 'runs').stderr
    for words in (('report', 'runs/r'), ('train', '--resume=runs/r'), ('runs', 'compare', 'runs/r', 'runs/r')):
        assert 'deeper' in run(*words, code=2).stderr


def test_rows_of_runs(a_run, run):
    for name in ('metrics.jsonl', 'layers.jsonl'):
        with open(a_run / name, 'a') as file: file.write('%s\n{"ev":"test","outputs":%s}\n' % (DEEP, DEEP))
    state, = json.loads(run('runs', 'runs', '--json').stdout)
    assert state['state'] == 'finished'
    run('report', 'runs/r')


@pytest.mark.parametrize('flags, expected', [('{"threads": []}', 'threads has no value'),
                                           ('{"threads": ["many"]}', 'whole number'),
                                           ('{"threads": ["-3"]}', 'at least'),
                                           ('{"verbose": ["perhaps"]}', 'must be true or false'),
                                           ('{"sigint-effect": ["x"]}', 'one of'),
                                           ('{"data-threads": [], "seed": []}', 'no value')])
def test_flags_of_a_record_are_checked_like_a_command_line(a_run, run, flags, expected):
    edit_record(a_run, flags=flags)
    done = run('train', '--resume=runs/r', '--set', 'solver.max_iter=4', code=2)
    assert expected in done.stderr and 'runs/r/run.json' in done.stderr


@pytest.mark.parametrize('content', [DEEP, DEEP_OBJECTS, '{"x": %s}' % DEEP, '7', '{', '@'],
                         ids=['lists', 'objects', 'within', 'number', 'cut', 'machine'])
def test_an_unreadable_cache_is_ignored(home, run, content):
    run('train', 'solver.prototxt')
    if content == '@':
        machines = json.loads(home.read_text()) if home.exists() else {'none': {}}
        content = json.dumps({machine: 7 for machine in machines})
    home.write_text(content)
    run('train', 'solver.prototxt')
    run('test', '--model=net.prototxt', '--weights=snap_iter_2.caffemodel', '--iterations=1')


def test_a_cache_that_is_a_pipe_does_not_block(home, run):
    os.mkfifo(home)
    run('train', 'solver.prototxt', timeout=60)
    assert home.is_fifo()


class Studio:
    """`cortado studio` for the current folder."""

    def __init__(self, cortado):
        words = [cortado, 'studio', '.', '--port=0', '--token=' + TOKEN]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.search(r':(\d+)/', self.process.stdout.readline())[1])

    def __enter__(self): return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0

    def ask(self, method, target, body=None):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        connection.request(method, target, body, {'Authorization': 'Bearer ' + TOKEN})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_studio(a_run, cortado, helper):
    helper('cortado-studio')
    edit_record(a_run, command=DEEP)
    dataset = pathlib.Path('data/d/train_lmdb')
    dataset.mkdir(parents=True)
    (dataset / 'data.mdb').touch()
    (dataset.parent / 'dataset.json').write_text(DEEP)
    with Studio(cortado) as studio:
        status, content = studio.ask('GET', '/api/runs')
        assert status == 200 and [run['state'] for run in json.loads(content)] == ['unreadable']
        assert studio.ask('GET', '/api/run?path=runs/r')[0] == 400
        status, content = studio.ask('GET', '/api/datasets')
        assert status == 200 and json.loads(content)[0]['made'] is None
        assert studio.ask('POST', '/api/check', '{"text": %s}' % DEEP)[0] == 400
