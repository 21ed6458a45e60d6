"""Starts servers, and sends them requests over HTTP or raw bytes."""
import http.client, json, os, re, signal, socket, subprocess, tempfile, urllib.parse

from tests.harness.waiting import wait_until


class Started:
    """A program that serves HTTP on `port`. SIGTERM must end it with exit code 0, at stop() or at the end of `with`."""
    patience = 20  # seconds for a response

    def __init__(self, *words):
        self.output, self.log, self.stopped = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile(), False
        self.process = subprocess.Popen(words, stdout=self.output, stderr=self.log)

    def __enter__(self): return self

    def __exit__(self, *_):
        if not self.stopped: self.stop()

    def said(self, file, pattern):
        """Waits for a match of this pattern in `output` or `log`, and returns it; kills the program after a timeout."""
        def found():
            text = open(file.name).read()
            assert self.process.poll() is None, 'the program exited: ' + open(self.log.name).read()
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
        """Sends a request on a new connection. Returns (status, parsed JSON or bytes, headers)."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=self.patience)
        if parameters: target += '?' + urllib.parse.urlencode(parameters)
        connection.request(method, target, json.dumps(body) if isinstance(body, dict) else body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.getheader('Content-Type') == 'application/json' and content: content = json.loads(content)
        connection.close()
        return answer.status, content, answer.headers

    def raw(self, content, wait=5):
        """Sends these bytes. Returns what the server sends until it closes, or sends nothing for `wait` seconds."""
        got = b''
        with socket.create_connection(('127.0.0.1', self.port), timeout=wait) as connection:
            try:
                connection.sendall(content)
                while part := connection.recv(65536): got += part
            except (TimeoutError, ConnectionError): pass
        return got

    def descriptors(self):
        """The number of open descriptors, without the schedstat files of its compute threads."""
        folder, count = '/proc/%d/fd' % self.process.pid, 0
        for name in os.listdir(folder):
            try: count += not os.readlink(folder + '/' + name).endswith('/schedstat')
            except FileNotFoundError: pass
        return count


def status_of(answer):
    """The status of an HTTP response in bytes, or None."""
    return int(answer.split()[1]) if answer.startswith(b'HTTP/1.1 ') else None
