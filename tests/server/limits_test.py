"""Limits and robustness of the server: sizes, times, connections, disconnects, random bytes, tokens, TLS, full queues,
deadlines, wrong flags."""
import collections, json, random, socket, ssl, time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness.servers import status_of
from tests.harness.waiting import is_within, wait_until
from tests.server.serving import images, scores

TOKEN = 'abcdefghijklmnopqrstuvwxyz'
INFER = '/v2/models/small/infer'
BODY = json.dumps({'inputs': [{'name': 'data', 'shape': [1, 3, 8, 8], 'datatype': 'FP32', 'data': [0] * 192}]})
HEAD = b'POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\n'


def request(path=INFER, body=BODY, method='POST', headers=''):
    return ('%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s' % (method, path, headers, len(body),
                                                                            body)).encode()


def live(headers=''): return request('/v2/health/live', '', 'GET', headers)


@pytest.fixture(scope='module')
def limited(start_server):
    server = start_server('--max-body=1', '--max-connections=20', '--header-timeout=1', '--body-timeout=2',
                          '--idle-timeout=3')
    server.infer(images(1))
    return server


@pytest.fixture
def server(limited):
    """A server with limits, which must not have more open descriptors after a test than before."""
    before = limited.descriptors()
    yield limited
    wait_until(lambda: limited.descriptors() <= before, 'no more than %d descriptors' % before, 5)


@pytest.mark.parametrize('expected, content', [
    (413, HEAD + b'Content-Length: 1100000\r\n\r\n'),
    (400, HEAD + b'Content-Length: 1e3\r\n\r\n'),
    (413, HEAD + b'Transfer-Encoding: chunked\r\n\r\n100001\r\n' + b'x' * 0x100001 + b'\r\n0\r\n\r\n'),
    (400, b'GET / HTTP/1.1\r\nHost: x\r\nLong: ' + b'x' * 20000 + b'\r\n\r\n'),
    (400, b'GET /' + b'x' * 3000 + b' HTTP/1.1\r\nHost: x\r\n\r\n'),
    (400, b'\x16\x03\x01\x02\x00 rubbish\r\n\r\n'),
    (415, request(headers='Content-Encoding: gzip\r\n'))],
    ids=['large', 'no length', 'large chunk', 'long header', 'long path', 'rubbish', 'gzip'])
def test_sizes(server, expected, content):
    assert status_of(server.raw(content)) == expected


def test_framing(server):
    got = server.raw(HEAD + b'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n' %
                     (len(BODY), BODY.encode()))
    assert status_of(got) == 200, got
    got = server.raw(request(headers='Expect: 100-continue\r\nConnection: close\r\n'))
    assert got.startswith(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200')
    got = server.raw(live('Connection: close\r\n') * 2)
    assert got.count(b'HTTP/1.1 200') == 1, 'closed after the first'
    got = server.raw(live() + request(headers='Connection: close\r\n'))
    assert got.count(b'HTTP/1.1 200') == 2, 'pipelined'


@pytest.mark.parametrize('least, first, drip', [
    (1, b'GET / HT', b'x'), (2, request()[:-100], b' '), (3, b'', b''), (3, live(), b'')],
    ids=['slow head', 'slow body', 'idle', 'idle later'])
def test_times(server, least, first, drip):
    """--header-timeout=1, --body-timeout=2, --idle-timeout=3."""
    with socket.create_connection(('127.0.0.1', server.port), timeout=10) as connection:
        start = time.time()
        connection.sendall(first)
        connection.settimeout(0.2)
        while time.time() - start < 10:
            try:
                if drip: connection.sendall(drip)
                if not connection.recv(4096): break
            except TimeoutError: continue
            except OSError: break
    assert least - 0.1 < time.time() - start < least + 1.5


def test_connections(server):
    """--max-connections=20: further connections get 503 while all have a request, until some are closed."""
    held = [socket.create_connection(('127.0.0.1', server.port)) for _ in range(20)]
    for connection in held: connection.sendall(request()[:-100])
    time.sleep(0.2)  # until the heads are read
    assert status_of(server.raw(b'')) == 503, 'the 21st is refused'
    for connection in held: connection.close()
    wait_until(lambda: status_of(server.raw(live('Connection: close\r\n'))) == 200, 'a free connection', 2)
    assert server.infer(images(1))[0] == 200


def test_connections_without_a_request(server):
    """Of more connections than may be open, those that have waited longest for a request are closed."""
    held = [Waiting(server, first) for first in [b''] * 12 + [b'GET /v2 HT'] * 6]
    kept = [Waiting(server, live()) for _ in range(2)]  # with a request before
    for one in kept: one.told()
    for _ in range(40):
        start = time.monotonic()
        assert status_of(server.raw(live('Connection: close\r\n'), wait=2)) == 200
        assert is_within(time.monotonic() - start, 2)
    more = [Waiting(server, b'') for _ in range(25)]
    assert status_of(server.raw(live('Connection: close\r\n'), wait=2)) == 200
    assert all(one.is_closed() for one in held + kept), 'the oldest first'
    assert not any(one.is_closed() for one in more[-15:])
    for one in held + kept + more: one.close()


class Waiting(socket.socket):
    """A connection that has sent these bytes."""
    def __init__(self, server, first):
        super().__init__()
        self.settimeout(2)
        self.connect(('127.0.0.1', server.port))
        self.sendall(first)

    def told(self): return self.recv(4096)

    def is_closed(self):
        self.settimeout(0.05)
        try: return self.recv(1) == b''
        except TimeoutError: return False
        except ConnectionError: return True


def test_rubbish(server, models):
    """Truncated, duplicated and changed requests; valid requests in between get correct answers."""
    draw, kinds, batch = random.Random(7), collections.Counter(), images(1)
    wanted = scores(models.arrays[1], batch)
    for i in range(300):
        content = bytearray(request())
        for _ in range(draw.randrange(1, 6)):
            at = draw.randrange(len(content))
            what = draw.randrange(4)
            if what == 0: content[at] = draw.randrange(256)
            elif what == 1: del content[at:at + draw.randrange(1, 40)]
            elif what == 2: content[at:at] = content[at:at + draw.randrange(1, 40)]
            else: content = content[:at + 1]
            if not content: content = bytearray(b'x')
        with socket.create_connection(('127.0.0.1', server.port), timeout=3) as connection:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            try: got = connection.recv(65536)
            except OSError: got = b''
        kinds[status_of(got)] += 1
        if i % 50 == 0:
            answer = server.infer(batch)[1]['outputs'][0]['data']
            assert max(abs(a - b) for a, b in zip(answer, wanted[0])) < 1e-5
    assert kinds[500] == 0 and kinds[400] > 50, kinds


def test_hang_ups(server):
    before = server.descriptors()
    for _ in range(200):
        with socket.create_connection(('127.0.0.1', server.port)) as connection: connection.sendall(request())
    wait_until(lambda: server.descriptors() <= before, 'the server closes them', 5)
    wait_until(lambda: server.infer(images(1))[0] == 200, 'requests of disconnected clients have left the queue', 20)


def test_deadlines(server):
    late = {**json.loads(BODY), 'parameters': {'timeout': 1}}  # a microsecond
    status, answer, _ = server.ask('POST', INFER, late)
    assert status == 504 and 'deadline passed' in answer['error']
    for milliseconds, status in ('0', 504), ('60000', 200), ('soon', 400):
        assert server.ask('POST', INFER, BODY, {'X-Timeout-Ms': milliseconds})[0] == status


def test_token(start_server, tmp_path):
    (tmp_path / 'token').write_text(TOKEN + '\n')
    server = start_server('--token-file=%s' % (tmp_path / 'token'))
    assert server.ask('GET', '/v2/health/ready')[0] == 200 and server.ask('GET', '/')[0] == 200
    for value in None, 'Bearer ' + TOKEN[:-1] + 'x', 'Bearer ' + TOKEN + 'x', TOKEN, '':
        header = {} if value is None else {'Authorization': value}
        for method, path in (('POST', INFER), ('GET', '/metrics'), ('GET', '/v2/models/small'),
                             ('POST', '/v2/repository/models/small/unload'), ('POST', '/v1/classify')):
            assert server.ask(method, path, '', header)[0] == 401, (method, path, header)
    assert server.ask('POST', INFER, BODY, {'Authorization': 'Bearer ' + TOKEN})[0] == 200


def test_tls(start_server, tls):
    server = start_server(*tls.flags, '--header-timeout=1', scheme='https')
    context = ssl.create_default_context(cafile=tls.cert)
    with socket.create_connection(('127.0.0.1', server.port)) as plain, \
            context.wrap_socket(plain, server_hostname='localhost') as connection:
        assert connection.version() in ('TLSv1.2', 'TLSv1.3')
        connection.sendall(request() + request(headers='Connection: close\r\n'))
        got = b''
        while part := connection.recv(65536): got += part
        assert got.count(b'HTTP/1.1 200') == 2
    assert server.raw(request()) == b'', 'no answer without TLS'
    with socket.create_connection(('127.0.0.1', server.port), timeout=5) as silent:
        start = time.time()
        assert silent.recv(10) == b'' and time.time() - start < 3, 'a missing handshake times out'


def test_queue(start_server):
    """--queue=1 with more clients than that: some requests get 503 with Retry-After, the others are answered."""
    server = start_server('--queue=1', '--max-batch=1')
    def ask(_):
        answers = [server.infer(images(1)) for _ in range(50)]
        return [(status, headers['Retry-After'] if status == 503 else None) for status, _, headers in answers]
    with ThreadPoolExecutor(16) as pool: told = {one for client in pool.map(ask, range(16)) for one in client}
    assert {(200, None)} <= told <= {(200, None), (503, '1')}


NET = '--model={small}/deploy.prototxt --port=0 --grpc-port=0 '
ONE = NET + '--weights={small}/weights.safetensors '


@pytest.mark.parametrize('code, words, flags', [
    (2, 'no model is given', ''),
    (2, 'no weights are given', NET),
    (5, 'none.prototxt', '--model=none.prototxt'),
    (5, 'cannot be read|No such file', '--models={here}/none'),
    (2, "'a/b' is not a valid model name", ONE + '--name=a/b'),
    (2, 'is not an IP address', ONE + '--host=nowhere'),
    (5, 'cannot listen on 127.0.0.1 port', ONE + '--port={busy}'),
    (5, 'cannot listen for gRPC', ONE + '--grpc-port={busy}'),
    (2, 'is too short', ONE + '--token-file={here}/short'),
    (5, 'No such file', ONE + '--token-file={here}/none'),
    (2, 'require each other', ONE + '--tls-cert=x'),
    (5, '--tls-cert=none', ONE + '--tls-cert=none --tls-key=none'),
    (2, 'must be at least 1', ONE + '--max-batch=0'),
    (2, 'in [0, 60000]', ONE + '--max-delay=nan'),
    (2, 'did you mean', ONE + '--max-bach=4'),
    (4, 'has 1 names', ONE + '--labels={here}/short')])
def test_flags(run, models, tmp_path, code, words, flags):
    """Usage errors: the exit code, and part of the message."""
    (tmp_path / 'short').write_text('abc')
    with socket.create_server(('127.0.0.1', 0)) as busy:
        flags = flags.format(small=models.path / 'small/1', here=tmp_path, busy=busy.getsockname()[1])
        told = run('serve', *flags.split(), code=code, timeout=20).stderr
    assert any(word in told for word in words.split('|'))
