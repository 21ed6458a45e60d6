"""Clients of a server: good requests, which must all have the same response, and one hostile request in a hundred."""
import http.client
import json
import random
import socket
import threading
import time

CLIENTS, PER_SECOND, HOSTILE = 8, 200, 100  # threads; good requests/s of all threads; one request in so many is hostile
PATH = '/v2/models/soaked/infer'


def body_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return json.dumps({'inputs': [{'name': 'data', 'shape': shape, 'datatype': 'FP32',
                                   'data': [i % 7 / 7 for i in range(count)]}]})


def hostile_request(draw, body):
    """Malformed, truncated or oversized requests."""
    head = 'POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n'
    good = (head % (PATH, len(body)) + body).encode()
    cut = good[:draw.randrange(1, len(good))]
    kinds = [b'\x16\x03\x01\x02\x00 rubbish\r\n\r\n', cut, good[:200], (head % (PATH, 1 << 60)).encode() + b'x' * 100,
             (head % (PATH, 9)).encode() + b'{"inputs"', b'GET / HTTP/1.1\r\nHost: x\r\nLong: ' + b'x' * 20000,
             (head % (PATH, len(body))).encode() + bytes(draw.randrange(256) for _ in range(len(body))),
             (head % (PATH, len(body)) + body.replace('"shape": [1', '"shape": [-1')).encode().ljust(len(good)),
             (head % (PATH, len(body)) + body.replace('0.', '9e999,')[:len(body)]).encode(), b'', good]
    return draw.choice(kinds)


def alike(outputs, expected):
    """Equal within 1e-5: the last bits depend on the number of requests in a batch."""
    pairs = zip(outputs, expected)
    return all(abs(a - b) < 1e-5 for one, other in pairs for a, b in zip(one['data'], other['data']))


class Clients:
    """Threads that send requests until stop()."""

    def __init__(self, port, shape):
        self.port, self.body = port, body_of(shape)
        self.good, self.hostile, self.wrong = 0, 0, []
        self.expected, self.over = None, threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, number):
        draw, connection = random.Random(number), None
        while not self.over.wait(CLIENTS / PER_SECOND * draw.uniform(0, 2)):
            if draw.randrange(HOSTILE) == 0:
                self._attack(draw)
                continue
            try:
                connection = connection or http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
                connection.request('POST', PATH, self.body, {'Content-Type': 'application/json'})
                answer = connection.getresponse()
                self._note(answer.status, answer.read())
            except (OSError, http.client.HTTPException) as error:
                self._note(None, repr(error).encode())
                connection = None
        if connection:
            connection.close()

    def _note(self, status, content):
        outputs = json.loads(content)['outputs'] if status == 200 else None
        with self.lock:
            self.good += 1
            self.expected = self.expected or outputs
            if outputs is None or not alike(outputs, self.expected):
                self.wrong.append((status, content[:200]))

    def _attack(self, draw):
        with self.lock:
            self.hostile += 1
        try:
            with socket.create_connection(('127.0.0.1', self.port), timeout=5) as connection:
                connection.sendall(hostile_request(draw, self.body))
                connection.settimeout(draw.choice([0.01, 0.5, 2]))
                connection.recv(4096)  # then closes, perhaps before the response
        except OSError:
            pass
        time.sleep(0.01)
