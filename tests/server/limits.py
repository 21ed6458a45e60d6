#!/usr/bin/python3
"""What a server refuses, survives and gives back: sizes, times, connections, hang-ups, rubbish, tokens, TLS, full
queues, deadlines, wrong flags.

    limits.py CORTADO
"""
import json, os, random, socket, ssl, subprocess, sys, threading, time

from serving import Place, Server, check, images, scores

exe = os.path.abspath(sys.argv[1])
place = Place()
TOKEN = 'abcdefghijklmnopqrstuvwxyz'
BODY = json.dumps({'inputs': [{'name': 'data', 'shape': [1, 3, 8, 8], 'datatype': 'FP32', 'data': [0] * 192}]})

def request(path='/v2/models/small/infer', body=BODY, method='POST', headers=''):
    return ('%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s' % (method, path, headers, len(body),
                                                                            body)).encode()

def status_of(answer): return int(answer.split()[1]) if answer.startswith(b'HTTP/1.1 ') else None

def check_sizes(server):
    for wanted, content in [
            (413, b'POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1100000\r\n\r\n'),
            (400, b'POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3\r\n\r\n'),
            (413, b'POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n' +
             b'100001\r\n' + b'x' * 0x100001 + b'\r\n0\r\n\r\n'),
            (400, b'GET / HTTP/1.1\r\nHost: x\r\nLong: ' + b'x' * 20000 + b'\r\n\r\n'),
            (400, b'GET /' + b'x' * 3000 + b' HTTP/1.1\r\nHost: x\r\n\r\n'),
            (400, b'\x16\x03\x01\x02\x00 rubbish\r\n\r\n'),
            (415, request(headers='Content-Encoding: gzip\r\n'))]:
        got = server.raw(content)
        check(status_of(got) == wanted, wanted, content[:60], got[:200])
    chunked = (b'POST /v2/models/small/infer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
               b'Transfer-Encoding: chunked\r\n\r\n')
    got = server.raw(chunked + b'%x\r\n%s\r\n0\r\n\r\n' % (len(BODY), BODY.encode()))
    check(status_of(got) == 200, got)
    got = server.raw(request(headers='Expect: 100-continue\r\nConnection: close\r\n'))
    check(got.startswith(b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200'), got)
    got = server.raw(request(headers='Connection: close\r\n', method='GET', path='/v2/health/live', body='') * 2)
    check(got.count(b'HTTP/1.1 200') == 1, 'closed behind the first', got)
    got = server.raw(request(path='/v2/health/live', method='GET', body='') + request(headers='Connection: close\r\n'))
    check(got.count(b'HTTP/1.1 200') == 2, 'one behind the other', got)

def check_times(server):
    """--header-timeout=1, --body-timeout=2, --idle-timeout=3."""
    def closed_after(first, drip=b''):
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
            return time.time() - start
    seconds = {}
    def measure(name, *arguments): seconds[name] = closed_after(*arguments)
    threads = [threading.Thread(target=measure, args=arguments) for arguments in (
        ('slow head', b'GET / HT', b'x'), ('slow body', request()[:-100], b' '), ('idle', b''),
        ('idle later', request(path='/v2/health/live', method='GET', body='')))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    for name, least in (('slow head', 1), ('slow body', 2), ('idle', 3), ('idle later', 3)):
        check(least - 0.1 < seconds[name] < least + 1.5, name, seconds)

def check_connections(server):
    """--max-connections=20: the others are told so, and there is room again when some went."""
    held = [socket.create_connection(('127.0.0.1', server.port)) for _ in range(20)]
    time.sleep(0.3)
    check(status_of(server.raw(b'')) == 503, 'the 21st is refused')
    for connection in held: connection.close()
    time.sleep(0.3)
    check(server.infer(images(1))[0] == 200)

def check_rubbish(server):
    """Requests cut, doubled and changed anywhere; a good client is answered right all along."""
    draw, good, kinds = random.Random(7), request(), {}
    batch = images(1)
    wanted = scores(place.arrays[1], batch)
    for i in range(300):
        content = bytearray(good)
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
        kinds[status_of(got)] = kinds.get(status_of(got), 0) + 1
        if i % 50 == 0:
            answer = server.infer(batch)[1]['outputs'][0]['data']
            check(max(abs(a - b) for a, b in zip(answer, wanted[0])) < 1e-5, answer)
    print('rubbish was answered with', kinds)
    check(kinds.get(500) is None and kinds.get(400, 0) > 50, kinds)

def check_hang_ups(server):
    for _ in range(200):
        with socket.create_connection(('127.0.0.1', server.port)) as connection: connection.sendall(request())
    time.sleep(0.5)
    check(server.infer(images(1))[0] == 200)

def check_nothing_left(server, descriptors):
    for _ in range(50):
        if server.descriptors() <= descriptors: return
        time.sleep(0.1)
    raise AssertionError('%d descriptors and not %d' % (server.descriptors(), descriptors))

def check_token():
    with open(place.path('token'), 'w') as file: file.write(TOKEN + '\n')
    server = Server(exe, '--token-file=' + place.path('token'), models=place.path('models'))
    check(server.ask('GET', '/v2/health/ready')[0] == 200 and server.ask('GET', '/')[0] == 200)
    for value in None, 'Bearer ' + TOKEN[:-1] + 'x', 'Bearer ' + TOKEN + 'x', TOKEN, '':
        header = {} if value is None else {'Authorization': value}
        for method, path in (('POST', '/v2/models/small/infer'), ('GET', '/metrics'), ('GET', '/v2/models/small'),
                             ('POST', '/v2/repository/models/small/unload'), ('POST', '/v1/classify')):
            check(server.ask(method, path, '', header)[0] == 401, method, path, header)
    check(server.ask('POST', '/v2/models/small/infer', BODY, {'Authorization': 'Bearer ' + TOKEN})[0] == 200)
    server.stop()

def check_tls():
    server = Server(exe, *place.tls_flags(), '--header-timeout=1', models=place.path('models'), scheme='https')
    context = ssl.create_default_context(cafile=place.path('cert.pem'))
    with socket.create_connection(('127.0.0.1', server.port)) as plain, \
            context.wrap_socket(plain, server_hostname='localhost') as connection:
        connection.sendall(request() + request(headers='Connection: close\r\n'))
        got = b''
        while part := connection.recv(65536): got += part
        check(got.count(b'HTTP/1.1 200') == 2, got)
        check(connection.version() in ('TLSv1.2', 'TLSv1.3'))
    check(server.raw(request()) == b'', 'no answer without TLS')
    with socket.create_connection(('127.0.0.1', server.port), timeout=5) as silent:
        start = time.time()
        check(silent.recv(10) == b'' and time.time() - start < 3, 'a handshake that does not come')
    server.stop()

def check_queue():
    """--queue=1 with more clients than that: refused ones are told to come again, the others answered."""
    server = Server(exe, '--queue=1', '--max-batch=1', models=place.path('models'))
    told, retry = {}, []
    def ask():
        for _ in range(50):
            status, answer, headers = server.infer(images(1))
            told[status] = told.get(status, 0) + 1
            if status == 503: retry.append(headers['Retry-After'])
    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    check(set(told) <= {200, 503} and told[200] > 0, told)
    check(set(retry) <= {'1'}, retry)
    server.stop()
    return told

def check_deadlines(server):
    late = json.loads(BODY)
    late['parameters'] = {'timeout': 1}  # a microsecond
    status, answer, _ = server.ask('POST', '/v2/models/small/infer', json.dumps(late))
    check(status == 504 and 'time was over' in answer['error'], status, answer)
    check(server.ask('POST', '/v2/models/small/infer', BODY, {'X-Timeout-Ms': '0'})[0] == 504)
    check(server.ask('POST', '/v2/models/small/infer', BODY, {'X-Timeout-Ms': '60000'})[0] == 200)
    check(server.ask('POST', '/v2/models/small/infer', BODY, {'X-Timeout-Ms': 'soon'})[0] == 400)

def check_flags():
    """Mistakes of who starts it: the code, and words that help."""
    folder = place.path('models', 'small', '1')
    with open(place.path('short'), 'w') as file: file.write('abc')
    one = ['--model=%s/deploy.prototxt' % folder, '--weights=%s/weights.safetensors' % folder, '--port=0',
           '--grpc-port=0']
    busy = socket.create_server(('127.0.0.1', 0))
    for code, words, flags in [
            (2, 'there is nothing to serve', []),
            (2, 'no weights are given', one[:1] + one[2:]),
            (5, 'none.prototxt', ['--model=none.prototxt']),
            (5, 'cannot be read|No such file', ['--models=' + place.path('none')]),
            (2, "cannot be called 'a/b'", one + ['--name=a/b']),
            (2, 'is no address', one + ['--host=nowhere']),
            (5, 'cannot listen on 127.0.0.1 port', one + ['--port=%d' % busy.getsockname()[1]]),
            (5, 'cannot listen for gRPC', one + ['--grpc-port=%d' % busy.getsockname()[1]]),
            (2, 'can be guessed', one + ['--token-file=' + place.path('short')]),
            (5, 'No such file', one + ['--token-file=' + place.path('none')]),
            (2, 'go together', one + ['--tls-cert=x']),
            (5, '--tls-cert=none', one + ['--tls-cert=none', '--tls-key=none']),
            (2, 'the least is 1', one + ['--max-batch=0']),
            (2, 'from 0 to 60000', one + ['--max-delay=nan']),
            (2, 'did you mean', one + ['--max-bach=4']),
            (4, 'has 1 names', one + ['--labels=' + place.path('short')])]:
        done = subprocess.run([exe, 'serve', *flags], capture_output=True, text=True, timeout=20)
        check(done.returncode == code and any(word in done.stderr for word in words.split('|')), code, words,
              done.returncode, done.stderr)

server = Server(exe, '--max-body=1', '--max-connections=20', '--header-timeout=1', '--body-timeout=2',
                '--idle-timeout=3', models=place.path('models'))
server.infer(images(1))
before = server.descriptors()
for step in check_sizes, check_times, check_connections, check_rubbish, check_hang_ups, check_deadlines:
    step(server)
    print(step.__name__, 'well')
check_nothing_left(server, before)
server.stop()
for step in check_token, check_tls, check_queue, check_flags:
    print(step.__name__, 'well', step() or '')
