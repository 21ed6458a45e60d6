"""The server over HTTP: metadata, answers compared with NumPy, errors, images, versions replaced under load, and its
exit."""
import json, re, threading
from concurrent.futures import ThreadPoolExecutor

import cv2, numpy, pytest

from tests.harness.waiting import wait_until
from tests.server.serving import NAMES, Models, images, scores

INFER = '/v2/models/small/infer'


@pytest.fixture(scope='module')
def server(start_server):
    return start_server('--max-batch=8')


def test_words(server):
    assert server.ask('GET', '/v2/health/live')[0] == 200 and server.ask('GET', '/v2/health/ready')[0] == 200
    assert server.ask('GET', '/v2/models/small')[1] == {
        'name': 'small', 'versions': ['1'], 'platform': 'cortado',
        'inputs': [{'name': 'data', 'datatype': 'FP32', 'shape': [-1, 3, 8, 8]}],
        'outputs': [{'name': 'prob', 'datatype': 'FP32', 'shape': [-1, 4]}]}
    assert server.ask('GET', '/v2/models/small/versions/1/ready')[0] == 200
    assert server.ask('GET', '/v2/models/small/config')[1]['max_batch_size'] == 8
    assert server.ask('GET', '/v2')[1]['name'] == 'cortado'
    page = server.ask('GET', '/')[1].decode()
    assert '<title>Cortado</title>' in page and 'http' not in page.replace('http-', ''), 'the page loads external files'


@pytest.mark.parametrize('count', [1, 3, 8])
def test_answers(server, models, count):
    batch = images(count, count)
    status, answer, _ = server.infer(batch, id='one')
    output = answer['outputs'][0]
    assert status == 200 and answer['id'] == 'one' and output['shape'] == [count, 4]
    got = numpy.array(output['data']).reshape(count, 4)
    assert abs(got - scores(models.arrays[1], batch)).max() < 1e-5


def test_binary(server, models):
    batch = images(2)
    head = json.dumps({'inputs': [{'name': 'data', 'shape': [2, 3, 8, 8], 'datatype': 'FP32',
                                   'parameters': {'binary_data_size': batch.nbytes}}],
                       'outputs': [{'name': 'prob', 'parameters': {'binary_data': True}}]}).encode()
    headers = {'Inference-Header-Content-Length': str(len(head))}
    status, body, told = server.ask('POST', INFER, head + batch.tobytes(), headers)
    size = int(told['Inference-Header-Content-Length'])
    assert json.loads(body[:size])['outputs'][0]['parameters'] == {'binary_data_size': 32}
    got = numpy.frombuffer(body[size:], '<f4').reshape(2, 4)
    assert abs(got - scores(models.arrays[1], batch)).max() < 1e-5
    whole = head + batch.tobytes()
    for content, words in (whole[:-1], 'the body ends before'), (whole + b'x', 'do not belong to an input'):
        status, body, _ = server.ask('POST', INFER, content, headers)
        assert status == 400 and words in body['error']


def tensor(**changes):
    return {'inputs': [{'name': 'data', 'shape': [1, 3, 8, 8], 'datatype': 'FP32', 'data': [0] * 192, **changes}]}


@pytest.mark.parametrize('status, words, method, at, body', [
    (404, "unknown model 'none'", 'POST', '/v2/models/none/infer', tensor()),
    (404, "not '7'", 'POST', '/v2/models/small/versions/7/infer', tensor()),
    (404, 'no such path: /x', 'GET', '/x', None),
    (404, 'no such path', 'GET', '/v2/models/../../etc/passwd', None),
    (405, 'method GET is not allowed', 'GET', INFER, None),
    (400, 'invalid at byte 2', 'POST', INFER, '{'),
    (400, 'inputs is missing', 'POST', INFER, '{}'),
    (400, 'not a JSON object', 'POST', INFER, '[]'),
    (400, "'dota' is not an input", 'POST', INFER, tensor(name='dota')),
    (400, 'datatype INT32', 'POST', INFER, tensor(datatype='INT32')),
    (400, '[1,3,8,9], but the model expects [-1,3,8,8]', 'POST', INFER, tensor(shape=[1, 3, 8, 9])),
    (400, 'rows, but the model accepts 1 to 8', 'POST', INFER, tensor(shape=[1 << 40, 3, 8, 8])),
    (400, 'invalid extent', 'POST', INFER, tensor(shape=[1 << 62, 3, 8, 8])),
    (400, 'invalid extent', 'POST', INFER, tensor(shape=[-1, 3, 8, 8])),
    (400, 'has 191 values', 'POST', INFER, tensor(data=[0] * 191)),
    (400, 'range of 32-bit floats', 'POST', INFER, tensor(data=[1e300] * 192)),
    (400, 'not a number', 'POST', INFER, tensor(data=['x'] * 192)),
    (400, 'nests data', 'POST', INFER, '{"data": ' + '[' * 100000),
    (400, 'is nested', 'POST', INFER, '{"inputs": ' + '[' * 100000),
    (400, 'values outside of data', 'POST', INFER, '[' + '1,' * 30000 + '1]'),
    (400, "parameter 'config'", 'POST', '/v2/repository/models/small/load', '{"parameters": {"config": "{}"}}'),
    (404, "unknown model 'none'", 'POST', '/v2/repository/models/none/load', ''),
    (415, 'not a JPEG, PNG', 'POST', '/v1/classify', b'GIF89a'),
    (400, '', 'POST', '/v1/classify', b'\xff\xd8\xff\xe0 cut off')], ids=lambda value: str(value)[:30])
def test_errors(server, status, words, method, at, body):
    got, answer, _ = server.ask(method, at, body)
    assert got == status and words in answer['error']


def test_images(server, models):
    pixels = numpy.random.default_rng(2).integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
    status, answer, _ = server.ask('POST', '/v1/classify', cv2.imencode('.png', pixels)[1].tobytes())
    wanted = scores(models.arrays[1], pixels.transpose(2, 0, 1)[None].astype(numpy.float32))[0]
    assert status == 200 and [one['name'] for one in answer['top']] == [NAMES[i] for i in numpy.argsort(-wanted)]
    assert abs(answer['top'][0]['probability'] - wanted.max()) < 1e-4


def test_formats(server, models):
    """All formats that the page offers are decoded; the other ones that OpenCV reads are refused."""
    pixels = numpy.random.default_rng(3).integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
    wanted = scores(models.arrays[1], pixels.transpose(2, 0, 1)[None].astype(numpy.float32))[0].max()
    offered = re.search(r'kServed = (.*);', server.ask('GET', '/formats.js')[1].decode())[1]
    endings = json.loads(offered.replace("'", '"'))
    assert {'.jpg', '.png', '.webp', '.bmp', '.ppm', '.pgm'} <= set(endings)
    for ending in endings:
        flags = [cv2.IMWRITE_WEBP_QUALITY, 101] if ending == '.webp' else []  # without losses
        image = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY) if ending == '.pgm' else pixels
        status, answer, _ = server.ask('POST', '/v1/classify', cv2.imencode(ending, image, flags)[1].tobytes())
        assert status == 200, (ending, answer)
        if ending not in ('.jpg', '.jpeg', '.jpe', '.pgm'): assert abs(answer['top'][0]['probability'] - wanted) < 1e-4
    for ending in '.tiff', '.jp2':
        image = cv2.imencode(ending, numpy.zeros((64, 64, 3), numpy.uint8))[1].tobytes()
        status, answer, _ = server.ask('POST', '/v1/classify', image)
        assert status == 415 and 'not a JPEG, PNG, WebP' in answer['error'], ending


def test_replacement(start_server, tmp_path):
    """A new version is loaded ten times while eight clients send requests; each answer is from one version."""
    models = Models(tmp_path)
    server = start_server('--max-batch=8', models=models)
    batch, ends = images(1, 5), threading.Event()
    wanted = {'1': scores(models.arrays[1], batch)}
    def ask(_):
        asked = 0
        while not ends.is_set():
            status, answer, _ = server.infer(batch)
            assert status == 200, answer
            assert abs(numpy.array(answer['outputs'][0]['data']) - wanted[answer['model_version']]).max() <= 1e-5
            asked += 1
        return asked
    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(ask, range(8))
        try:
            for version in range(2, 12):
                models.add_version(version)
                wanted[str(version)] = scores(models.arrays[version], batch)
                status, answer, _ = server.ask('POST', '/v2/repository/models/small/load')
                assert status == 200, answer
                assert server.ask('GET', '/v2/models/small')[1]['versions'] == [str(version)]
        finally: ends.set()
        assert sum(asked) > 100


def test_repository(start_server, tmp_path):
    models = Models(tmp_path)
    server = start_server(models=models)
    load = '/v2/repository/models/%s/load'
    assert server.ask('POST', '/v2/repository/models/small/unload')[0] == 200
    assert server.infer(images(1))[0] == 503 and server.ask('GET', '/v2/models/small/ready')[0] == 503
    assert server.ask('GET', '/v2/health/ready')[0] == 200, 'an unloaded model does not make the server unready'
    assert server.ask('POST', '/v2/repository/index')[1] == [
        {'name': 'small', 'version': '', 'state': 'UNAVAILABLE', 'reason': 'it was unloaded'}]
    assert server.ask('POST', '/v2/repository/index', '{"ready": true}')[1] == []
    (tmp_path / 'small/12').mkdir()
    status, answer, _ = server.ask('POST', load % 'small')
    assert status == 400 and 'deploy.prototxt does not exist' in answer['error']
    (tmp_path / 'small/12').rmdir()
    models.add_version(1, 'other')
    for model in 'other', 'small':
        assert server.ask('POST', load % model)[0] == 200
        assert server.infer(images(1), model)[0] == 200


def test_counts(start_server):
    server = start_server('--max-batch=8')
    for rows in [1] * 101 + [8]: assert server.infer(images(rows))[0] == 200
    assert server.ask('POST', INFER, '{}')[0] == 400
    for verb in 'unload', 'load': assert server.ask('POST', '/v2/repository/models/small/' + verb)[0] == 200
    assert server.infer(images(1))[0] == 200
    counts = server.ask('GET', '/v2/models/small/stats')[1]['model_stats'][0]
    assert counts['inference_count'] == 1 and counts['execution_count'] == 1
    text = server.ask('GET', '/metrics')[1].decode()
    value = dict(line.rsplit(' ', 1) for line in text.splitlines() if not line.startswith('#'))
    assert float(value['cortado_requests_total{model="small",outcome="answered"}']) > 100
    assert value['cortado_requests_total{model="small",outcome="failed"}'] == '0'
    batches = [float(value['cortado_batch_rows_bucket{model="small",le="%s"}' % most]) for most in (1, 8, '+Inf')]
    assert 0 < batches[0] < batches[1] == batches[2]
    assert value['cortado_http_connections'] == '1'


def test_end(start_server):
    """SIGTERM during requests: each is answered or was not accepted."""
    server, results = start_server('--max-batch=8'), []
    def ask(_):
        for _ in range(1000):
            try: results.append(server.infer(images(8))[0])
            except (ConnectionError, TimeoutError): return
    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(ask, range(8))
        wait_until(lambda: len(results) > 8, 'answers')
        server.stop()
        list(asked)
    assert set(results) == {200}
