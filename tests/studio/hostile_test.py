"""Changed requests to all paths of the studio: it answers good ones afterwards, and writes nothing outside."""
import json

from tests.harness import hostile
from tests.studio.security_test import OWN, READS, WRITES
from tests.studio.studying import kill_runs

BODY = {'name': 'x', 'path': 'nets/x.prototxt', 'text': 'name: "x"', 'source': 'photos', 'side': 28, 'split': 0.2,
        'transform': {'flip_h': 0.5}, 'data': 'data/x', 'solver': 'solver.prototxt', 'set': ['solver.base_lr=1'],
        'id': 1}
KEPT = '/api/job/stop', '/api/run/stop'


def test_studio_answers_after_hostile_requests(studio, place, request, seed):
    headers = {**OWN, 'Host': '127.0.0.1:%d' % studio.port, 'Content-Type': 'application/json'}
    body = json.dumps(BODY).encode()
    good = [hostile.request('GET', path, headers) for path in READS if not path.endswith('/feed')]
    good += [hostile.request('POST', path, headers, body) for path in WRITES if path not in KEPT]
    outside = sorted(path.name for path in place.parent.iterdir())
    def check(): assert studio.ask('GET', '/api/runs')[0] == 200
    hostile.attack(studio, good, seed, request.config.getoption('--rounds') or 200, check)
    kill_runs(place)
    assert sorted(path.name for path in place.parent.iterdir()) == outside
