"""Hostile HTTP requests: good ones, changed at random."""
import random, socket

LENGTHS = [b'0', b'-1', b'1', b'99999999999999999999', b'0x10', b'18446744073709551615', b'']
PIECES = [b'\0', b'\r\n\r\n', b'%00', b'%2e%2e/', b'../' * 40, b'9' * 400, b'[' * 3000, b'{"a":' * 3000, b'-1e999',
          b'NaN', b'null', b'"', b'\\ud800', b'\xff\xfe', b'A' * 70000, b'Transfer-Encoding: chunked\r\n',
          b'Expect: 100-continue\r\n']


def request(method, target, headers, body=b''):
    lines = ['%s %s HTTP/1.1' % (method, target), *('%s: %s' % header for header in headers.items()),
             'Content-Length: %d' % len(body)]
    return '\r\n'.join(lines).encode() + b'\r\n\r\n' + body


def changed(draw, content):
    """The request after one to four changes: flipped bits, cuts, repeats, insertions, other lengths."""
    for _ in range(draw.randrange(1, 5)):
        at, to = sorted(draw.randrange(len(content) + 1) for _ in range(2))
        kind = draw.randrange(7)
        if kind == 0 and content:
            at = min(at, len(content) - 1)
            content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1:]
        elif kind == 1: content = content[:to]
        elif kind == 2: content = content[:at] + content[to:]
        elif kind == 3: content = content[:at] + content[at:to] * 3 + content[to:]
        elif kind == 4: content = content[:at] + draw.choice(PIECES) + content[at:]
        elif kind == 5:
            head, _, rest = content.partition(b'Content-Length: ')
            content = head + b'Content-Length: ' + draw.choice(LENGTHS) + b'\r\n' + rest.partition(b'\r\n')[2]
        elif kind == 6: content = content[:at] + draw.randbytes(draw.randrange(1, 64)) + content[to:]
    return content


def attack(server, good, seed, rounds, check):
    """Sends `rounds` changed requests of the list `good`. None may have a response of status 500; after every fiftieth
    check() is called, and the program must not have ended."""
    draw = random.Random(seed)
    for number in range(1, rounds + 1):
        content = changed(draw, draw.choice(good))
        answer = send(server.port, content, draw.choice([0.02, 0.2]))
        assert not answer.startswith(b'HTTP/1.1 500'), (content, answer)
        assert server.process.poll() is None, content
        if number % 50 == 0 or number == rounds: check()
    print('\n%d hostile requests' % rounds)


def send(port, content, wait):
    """The beginning of the response, or b''. Closes the connection, perhaps before the response."""
    try:
        with socket.create_connection(('127.0.0.1', port), timeout=10) as connection:
            connection.sendall(content)
            connection.settimeout(wait)
            return connection.recv(4096)
    except OSError: return b''
