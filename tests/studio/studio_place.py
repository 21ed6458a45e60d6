"""A folder of real images, and studios that are started in it, for the tests of this folder."""
import atexit, gzip, http.client, json, os, re, signal, subprocess, sys, tempfile, time, urllib.parse

sys.path.append(os.path.join(os.path.dirname(__file__), '..', 'harness'))
import sockets

TOKEN = 'a-token-for-tests-0123456789'
FASHION = '/usr/share/datasets/fashion-mnist'
NAMES = ['tshirt', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'boot']

def check(is_so, *told):
    """An assertion that says what was there instead."""
    if not is_so: raise AssertionError(' '.join(str(one) for one in told))

def fashion(count):
    """(images, labels) of Fashion-MNIST's test set, from Debian's package; None where it is not installed."""
    import numpy
    try:
        images = gzip.open(FASHION + '/t10k-images-idx3-ubyte.gz').read(16 + count * 784)[16:]
        labels = gzip.open(FASHION + '/t10k-labels-idx1-ubyte.gz').read(8 + count)[8:]
    except FileNotFoundError: return None
    return numpy.frombuffer(images, numpy.uint8).reshape(-1, 28, 28), numpy.frombuffer(labels, numpy.uint8)

class Place(tempfile.TemporaryDirectory):
    """A studio's folder, with photos/CLASS/NUMBER.jpg."""
    def __init__(self, exe, count=600, classes=10):
        super().__init__()
        import cv2
        self.exe, self.images = exe, {}
        images, labels = fashion(count)
        for i, (image, label) in enumerate(zip(images, labels)):
            if label >= classes: continue
            folder = self.path('photos', NAMES[label])
            os.makedirs(folder, exist_ok=True)
            cv2.imwrite('%s/%05d.jpg' % (folder, i), image)
            self.images.setdefault(NAMES[label], []).append('%s/%05d.jpg' % (folder, i))

    def path(self, *names): return os.path.join(self.name, *names)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)) or '.', exist_ok=True)
        with open(self.path(name), 'w') as file: file.write(text)

class Studio:
    """`cortado studio` on a port that is free."""
    def __init__(self, exe, folder, *flags, token=TOKEN):
        self.log = tempfile.NamedTemporaryFile('w+')
        self.token = token
        given = ['--token=' + token] if token else []
        self.process = subprocess.Popen([exe, 'studio', folder, '--port=0', *given, *flags], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True)
        atexit.register(self.process.kill)  # where a test fails
        self.address = self.process.stdout.readline().strip()
        found = re.match(r'http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)$', self.address)
        check(found, 'no address:', self.address, open(self.log.name).read())
        self.port, self.token = int(found[1]), found[2]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(20) == 0, 'exit', self.process.returncode, open(self.log.name).read())

    def ask(self, method, target, body=None, headers=None, **parameters):
        """(status, parsed JSON or the bytes, headers) of one request; with the token, unless headers are given."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=120)
        if parameters: target += '?' + urllib.parse.urlencode(parameters)
        if isinstance(body, dict): body = json.dumps(body)
        if headers is None: headers = {'Authorization': 'Bearer ' + self.token}
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.getheader('Content-Type') == 'application/json' and content: content = json.loads(content)
        connection.close()
        return answer.status, content, answer.headers

    def get(self, target, **parameters): return self._good(self.ask('GET', target, **parameters))

    def post(self, target, **body): return self._good(self.ask('POST', target, body))

    @staticmethod
    def _good(answer):
        check(answer[0] == 200, answer[0], answer[1])
        return answer[1]

    def finished(self, job, seconds=60):
        for _ in range(seconds * 10):
            now = self.get('/api/job', id=job)
            if now['state'] != 'running': return now
            time.sleep(0.1)
        raise AssertionError('the job runs and runs: %s' % now)

    def raw(self, content, wait=5): return sockets.raw(self.port, content, wait)
