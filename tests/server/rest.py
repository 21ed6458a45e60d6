#!/usr/bin/python3
"""The server over HTTP: what it tells of itself, answers beside NumPy's, mistakes, images, versions that are replaced
under load, and its end.

    rest.py CORTADO
"""
import json, os, sys, threading, time

import cv2, numpy

from serving import Place, Server, check, images, scores

exe = os.path.abspath(sys.argv[1])
place = Place()
server = Server(exe, '--max-batch=8', models=place.path('models'))

def check_words():
    check(server.ask('GET', '/v2/health/live')[0] == 200 and server.ask('GET', '/v2/health/ready')[0] == 200)
    status, metadata, _ = server.ask('GET', '/v2/models/small')
    check(metadata == {'name': 'small', 'versions': ['1'], 'platform': 'cortado',
                       'inputs': [{'name': 'data', 'datatype': 'FP32', 'shape': [-1, 3, 8, 8]}],
                       'outputs': [{'name': 'prob', 'datatype': 'FP32', 'shape': [-1, 4]}]}, metadata)
    check(server.ask('GET', '/v2/models/small/versions/1/ready')[0] == 200)
    check(server.ask('GET', '/v2/models/small/config')[1]['max_batch_size'] == 8)
    check(server.ask('GET', '/v2')[1]['name'] == 'cortado')
    page = server.ask('GET', '/')[1].decode()
    check('<title>Cortado</title>' in page and 'http' not in page.replace('http-', ''), 'the page is not whole')

def check_answers():
    for count in 1, 3, 8:
        batch = images(count, count)
        status, answer, _ = server.infer(batch, id='one')
        output = answer['outputs'][0]
        check(status == 200 and answer['id'] == 'one' and output['shape'] == [count, 4], answer)
        got = numpy.array(output['data']).reshape(count, 4)
        check(abs(got - scores(place.arrays[1], batch)).max() < 1e-5, got)

def check_binary():
    batch = images(2)
    head = json.dumps({'inputs': [{'name': 'data', 'shape': [2, 3, 8, 8], 'datatype': 'FP32',
                                   'parameters': {'binary_data_size': batch.nbytes}}],
                       'outputs': [{'name': 'prob', 'parameters': {'binary_data': True}}]}).encode()
    headers = {'Inference-Header-Content-Length': str(len(head))}
    status, body, told = server.ask('POST', '/v2/models/small/infer', head + batch.tobytes(), headers)
    size = int(told['Inference-Header-Content-Length'])
    check(json.loads(body[:size])['outputs'][0]['parameters'] == {'binary_data_size': 32}, body[:size])
    got = numpy.frombuffer(body[size:], '<f4').reshape(2, 4)
    check(abs(got - scores(place.arrays[1], batch)).max() < 1e-5, got)
    status, body, _ = server.ask('POST', '/v2/models/small/infer', head + batch.tobytes()[:-1], headers)
    check(status == 400 and 'the body ends before' in body['error'], body)
    status, body, _ = server.ask('POST', '/v2/models/small/infer', head + batch.tobytes() + b'x', headers)
    check(status == 400 and 'belong to no input' in body['error'], body)

def check_mistakes():
    def tensor(**changes):
        one = {'name': 'data', 'shape': [1, 3, 8, 8], 'datatype': 'FP32', 'data': [0] * 192, **changes}
        return json.dumps({'inputs': [one]})
    path = '/v2/models/small/infer'
    for status, words, method, at, body in [
            (404, "no model 'none'", 'POST', '/v2/models/none/infer', tensor()),
            (404, "no version '7'", 'POST', '/v2/models/small/versions/7/infer', tensor()),
            (404, 'nothing at /x', 'GET', '/x', None),
            (404, 'nothing at', 'GET', '/v2/models/../../etc/passwd', None),
            (405, 'does not take GET', 'GET', path, None),
            (400, 'damaged at byte 2', 'POST', path, '{'),
            (400, 'inputs is missing', 'POST', path, '{}'),
            (400, 'no JSON object', 'POST', path, '[]'),
            (400, "'dota' is no input", 'POST', path, tensor(name='dota')),
            (400, 'datatype INT32', 'POST', path, tensor(datatype='INT32')),
            (400, '[1,3,8,9], and the model takes [-1,3,8,8]', 'POST', path, tensor(shape=[1, 3, 8, 9])),
            (400, 'rows, and the model takes 1 to 8', 'POST', path, tensor(shape=[1 << 40, 3, 8, 8])),
            (400, 'no extent', 'POST', path, tensor(shape=[1 << 62, 3, 8, 8])),
            (400, 'no extent', 'POST', path, tensor(shape=[-1, 3, 8, 8])),
            (400, 'has 191 values', 'POST', path, tensor(data=[0] * 191)),
            (400, 'no 32-bit float', 'POST', path, tensor(data=[1e300] * 192)),
            (400, 'no number', 'POST', path, tensor(data=['x'] * 192)),
            (400, 'nests data', 'POST', path, '{"data": ' + '[' * 100000),
            (400, 'is nested', 'POST', path, '{"inputs": ' + '[' * 100000),
            (400, 'values outside of data', 'POST', path, '[' + '1,' * 30000 + '1]'),
            (400, "parameter 'config'", 'POST', '/v2/repository/models/small/load', '{"parameters": {"config": "{}"}}'),
            (404, "no model 'none'", 'POST', '/v2/repository/models/none/load', ''),
            (415, 'no JPEG, PNG', 'POST', '/v1/classify', b'GIF89a'),
            (400, '', 'POST', '/v1/classify', b'\xff\xd8\xff\xe0 cut off')]:
        got, answer, _ = server.ask(method, at, body)
        check(got == status and words in answer['error'], at, body and body[:60], got, answer)

def check_images():
    pixels = numpy.random.default_rng(2).integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
    status, answer, _ = server.ask('POST', '/v1/classify', cv2.imencode('.png', pixels)[1].tobytes())
    wanted = scores(place.arrays[1], pixels.transpose(2, 0, 1)[None].astype(numpy.float32))[0]
    check(status == 200 and [one['name'] for one in answer['top']] ==
          [['ape', 'nut', 'Mary', 'Jesus'][i] for i in numpy.argsort(-wanted)], answer, wanted)
    check(abs(answer['top'][0]['probability'] - wanted.max()) < 1e-4, answer, wanted)

def check_replacement():
    """A new version is loaded ten times while eight clients ask: each answer is one of a version's."""
    batch, wrong, ends = images(1, 5), [], threading.Event()
    wanted = {'1': scores(place.arrays[1], batch)}
    asked = [0] * 8
    def ask(client):
        while not ends.is_set():
            status, answer, _ = server.infer(batch)
            asked[client] += 1
            if status != 200: wrong.append((status, answer)); return
            got = numpy.array(answer['outputs'][0]['data'])
            if abs(got - wanted[answer['model_version']]).max() > 1e-5: wrong.append(answer)
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads: thread.start()
    for version in range(2, 12):
        place.add_version(version)
        wanted[str(version)] = scores(place.arrays[version], batch)
        status, answer, _ = server.ask('POST', '/v2/repository/models/small/load')
        check(status == 200, answer)
        check(server.ask('GET', '/v2/models/small')[1]['versions'] == [str(version)])
    ends.set()
    for thread in threads: thread.join()
    check(not wrong and sum(asked) > 100, wrong[:2], asked)
    print('%d requests while versions were replaced ten times, none lost' % sum(asked))

def check_repository():
    check(server.ask('POST', '/v2/repository/models/small/unload')[0] == 200)
    check(server.infer(images(1))[0] == 503 and server.ask('GET', '/v2/models/small/ready')[0] == 503)
    check(server.ask('GET', '/v2/health/ready')[0] == 200, 'what was unloaded is not missed')
    index = server.ask('POST', '/v2/repository/index')[1]
    check(index == [{'name': 'small', 'version': '', 'state': 'UNAVAILABLE', 'reason': 'it was unloaded'}], index)
    check(server.ask('POST', '/v2/repository/index', '{"ready": true}')[1] == [])
    os.makedirs(place.path('models', 'small', '12'))
    status, answer, _ = server.ask('POST', '/v2/repository/models/small/load')
    check(status == 400 and 'deploy.prototxt does not exist' in answer['error'], answer)
    os.rmdir(place.path('models', 'small', '12'))
    place.add_version(1, 'other')
    for model in 'other', 'small':
        check(server.ask('POST', '/v2/repository/models/%s/load' % model)[0] == 200)
        check(server.infer(images(1), model)[0] == 200)

def check_counts():
    counts = server.ask('GET', '/v2/models/small/stats')[1]['model_stats'][0]
    check(counts['inference_count'] == 1 and counts['execution_count'] == 1, counts)
    text = server.ask('GET', '/metrics')[1].decode()
    value = {}
    for line in text.splitlines():
        if not line.startswith('#'): value.__setitem__(*line.rsplit(' ', 1))
    check(float(value['cortado_requests_total{model="small",outcome="answered"}']) > 100, text)
    check(value['cortado_requests_total{model="small",outcome="failed"}'] == '0', text)
    batches = [float(value['cortado_batch_rows_bucket{model="small",le="%s"}' % most]) for most in (1, 8, '+Inf')]
    check(0 < batches[0] < batches[1] == batches[2], batches)
    check(value['cortado_http_connections'] == '1', text)

def check_end():
    """SIGTERM while requests are under way: each is answered, or was not taken."""
    results, batch = [], images(8)
    def ask():
        for _ in range(1000):
            try: results.append(server.infer(batch)[0])
            except (ConnectionError, TimeoutError): return
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads: thread.start()
    time.sleep(0.3)
    server.stop()
    for thread in threads: thread.join()
    check(len(results) > 8 and set(results) == {200}, set(results), len(results))

for step in (check_words, check_answers, check_binary, check_mistakes, check_images, check_replacement,
             check_repository, check_counts, check_end):
    step()
    print(step.__name__, 'well')
