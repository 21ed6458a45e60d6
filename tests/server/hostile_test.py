"""Changed requests to all paths of the server: good ones have the right answers afterwards."""
import numpy

from tests.harness import hostile
from tests.server.limits_test import BODY, INFER
from tests.server.serving import images, scores

READS = ['/', '/v2', '/v2/health/ready', '/v2/models/small', '/v2/models/small/config', '/v2/models/stats',
         '/v2/models/small/versions/1', '/metrics', '/style.css']
WRITES = [INFER, '/v2/models/small/versions/1/infer', '/v2/repository/index', '/v2/repository/models/small/load',
          '/v1/classify', '/v1/detect']


def test_server_answers_after_hostile_requests(server, models, request, seed):
    headers = {'Host': 'x', 'Content-Type': 'application/json'}
    good = [hostile.request('GET', path, headers) for path in READS]
    good += [hostile.request('POST', path, headers, BODY.encode()) for path in WRITES]
    expected = scores(models.arrays[1], images(2))
    def check():
        status, answer, _ = server.infer(images(2))
        assert status == 200 and numpy.allclose(answer['outputs'][0]['data'], expected.ravel(), atol=1e-4), answer
    hostile.attack(server, good, seed, request.config.getoption('--rounds') or 300, check)
