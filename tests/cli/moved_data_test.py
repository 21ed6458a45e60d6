"""The server and the studio know a run's classes after its dataset has been removed."""
import os, shutil

import pytest

from tests.cli import fixtures
from tests.harness.servers import Started

NAMES = ['ant', 'bee', 'cat', 'dog']


@pytest.fixture
def place(folder, cortado, run, monkeypatch):
    """A folder with runs/first, and with no data."""
    monkeypatch.setenv('PATH', os.path.dirname(cortado), prepend=':')
    os.mkdir('sets')
    for part in 'train', 'test': fixtures.lmdb('sets/%s_lmdb' % part, n=16)
    fixtures.write('sets/labels.txt', '\n'.join(NAMES).encode() + b'\n')
    fixtures.small_net(source='sets/train_lmdb')
    fixtures.small_solver(iters=2)
    fixtures.pgm('a.pgm')
    run('train', 'solver.prototxt', '--run=runs/first')
    shutil.rmtree('sets')
    return folder


def names(answer): return sorted(one['name'] for one in answer)


def test_server(place, cortado, helper):
    helper('cortado-serve')
    with Started(cortado, 'serve', 'runs/first', '--port=0', '--grpc-port=0') as server:
        server.port = int(server.said(server.log, r'HTTP on http://\S*:(\d+)\n')[1])
        status, answer, _ = server.ask('POST', '/v1/classify', (place / 'a.pgm').read_bytes())
        assert status == 200 and names(answer['top']) == NAMES


def test_studio(place, cortado, helper):
    helper('cortado-studio')
    with Started(cortado, 'studio', '.', '--port=0', '--token=a-token-for-tests-0123456789') as studio:
        studio.port = int(studio.said(studio.output, r'\Ahttp://127\.0\.0\.1:(\d+)/')[1])
        status, answer, _ = studio.ask('POST', '/api/look', (place / 'a.pgm').read_bytes(),
                                       {'Authorization': 'Bearer a-token-for-tests-0123456789'}, run='runs/first',
                                       snapshot='snap_iter_2.caffemodel')
        assert status == 200 and names(answer['images'][0]['classes']) == NAMES
