"""Servers that tests start and talk to, by HTTP and below it."""
import http.client, json, os, re, signal, socket, subprocess, tempfile, urllib.parse

from tests.harness.waiting import wait_until


class Started:
    """A program that serves HTTP on `port`. It must end well by SIGTERM: at stop(), else at the end of its `with`."""
    patience = 20  # seconds for an answer

    def __init__(self, *words):
        self.output, self.log, self.stopped = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile(), False
        self.process = subprocess.Popen(words, stdout=self.output, stderr=self.log)

    def __enter__(self): return self

    def __exit__(self, *_):
        if not self.stopped: self.stop()

    def said(self, file, pattern):
        """The match of this pattern in `output` or `log`, as soon as there is one; else the program ends."""
        def found():
            text = open(file.name).read()
            assert self.process.poll() is None, 'it ended: ' + open(self.log.name).read()
            return re.search(pattern, text, re.M)
        try: return wait_until(found, pattern, 15)
        except BaseException:
            self.process.kill()
            raise

    def stop(self):
        self.stopped = True
        self.process.send_signal(signal.SIGTERM)
        try: assert self.process.wait(20) == 0, open(self.log.name).read()
        finally: self.process.kill()

    def ask(self, method, target, body=None, headers={}, **parameters):
        """(status, parsed JSON or the bytes, headers) of one request on a connection of its own."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=self.patience)
        if parameters: target += '?' + urllib.parse.urlencode(parameters)
        connection.request(method, target, json.dumps(body) if isinstance(body, dict) else body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.getheader('Content-Type') == 'application/json' and content: content = json.loads(content)
        connection.close()
        return answer.status, content, answer.headers

    def raw(self, content, wait=5):
        """Sends these bytes; returns what the server sends until it closes, or is silent for `wait` seconds."""
        got = b''
        with socket.create_connection(('127.0.0.1', self.port), timeout=wait) as connection:
            try:
                connection.sendall(content)
                while part := connection.recv(65536): got += part
            except (TimeoutError, ConnectionError): pass
        return got

    def descriptors(self):
        """How many it has open, without the schedstat files of its computing threads."""
        folder, count = '/proc/%d/fd' % self.process.pid, 0
        for name in os.listdir(folder):
            try: count += not os.readlink(folder + '/' + name).endswith('/schedstat')
            except FileNotFoundError: pass
        return count


def status_of(answer):
    """The status of an HTTP answer in bytes; None where it is none."""
    return int(answer.split()[1]) if answer.startswith(b'HTTP/1.1 ') else None
