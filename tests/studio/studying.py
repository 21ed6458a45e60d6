"""Folders of real images, and studios for them."""
import contextlib, gzip, json, os, signal

import pytest

from tests.cli import fixtures
from tests.harness.servers import Started
from tests.harness.waiting import wait_until

TOKEN = 'a-token-for-tests-0123456789'
FASHION = '/usr/share/datasets/fashion-mnist/t10k-'
NAMES = ['tshirt', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'boot']


def add_photos(folder, count=800, classes=10):
    """photos/CLASS/NUMBER.jpg of the first classes of Fashion-MNIST's test set, from Debian's package. Returns the
    folder; the test is skipped without the package."""
    import cv2, numpy
    try:
        images = gzip.open(FASHION + 'images-idx3-ubyte.gz').read(16 + count * 784)[16:]
        labels = gzip.open(FASHION + 'labels-idx1-ubyte.gz').read(8 + count)[8:]
    except FileNotFoundError: pytest.skip('Fashion-MNIST is not installed')
    for i, (image, label) in enumerate(zip(numpy.frombuffer(images, numpy.uint8).reshape(-1, 28, 28), labels)):
        if label >= classes: continue
        (folder / 'photos' / NAMES[label]).mkdir(parents=True, exist_ok=True)
        cv2.imwrite('%s/photos/%s/%05d.jpg' % (folder, NAMES[label], i), image)
    return folder


def add_squares(folder, count=24):
    """photos/CLASS/NUMBER.ppm: small images of one colour for each of two classes. Returns the folder."""
    for i in range(count):
        name, color = [('red', (200, 30, 30)), ('blue', (30, 30, 200))][i % 2]
        fixtures.ppm('%s/photos/%s/%d.ppm' % (folder, name, i), color=color)
    return folder


def first_photo(folder, name): return min((folder / 'photos' / name).iterdir())


def kill_runs(folder):
    """Kills the folder's trainings, which outlive the studio."""
    for path in folder.glob('runs/*/run.json'):
        process = json.loads(path.read_text())['starts'][-1]['pid']
        with contextlib.suppress(ProcessLookupError): os.kill(process, signal.SIGKILL)
        wait_until(lambda: state_of(process)[0] == 'Z', 'it is killed')


def state_of(process):
    """The fields of /proc/PID/stat after the name. A process that does not exist counts as a zombie."""
    try: return open('/proc/%d/stat' % process).read().rsplit(')', 1)[1].split()
    except FileNotFoundError: return ['Z']


class Studio(Started):
    """`cortado studio` on a free port."""
    patience = 120

    def __init__(self, exe, folder, *flags, token=TOKEN):
        super().__init__(exe, 'studio', str(folder), '--port=0', *(['--token=' + token] if token else []), *flags)
        address = self.said(self.output, r'\A(http://127\.0\.0\.1:(\d+)/\?token=(\S+))\n')
        self.address, self.port, self.token = address[1], int(address[2]), address[3]

    def ask(self, method, target, body=None, headers=None, **parameters):
        """Sends a request, with the token unless headers are given."""
        if headers is None: headers = {'Authorization': 'Bearer ' + self.token}
        return super().ask(method, target, body, headers, **parameters)

    def get(self, target, **parameters): return self._good(self.ask('GET', target, **parameters))

    def post(self, target, **body): return self._good(self.ask('POST', target, body))

    @staticmethod
    def _good(answer):
        assert answer[0] == 200, answer
        return answer[1]

    def finished(self, job):
        """Waits for the end of the job; returns its state."""
        wait_until(lambda: self.get('/api/job', id=job)['state'] != 'running', 'the job ends', 60)
        return self.get('/api/job', id=job)
