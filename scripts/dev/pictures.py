#!/usr/bin/python3
"""Makes every picture of the documentation from real runs: screenshots of the studio, a terminal, a net, and charts.

    pictures.py [--cortado=build/bin/cortado] [--only=NAME]

Trains LeNet on Fashion-MNIST in a temporary folder: a minute on two cores. NAME is studio, terminal, net, speed,
schedules or story. story runs browser tests of tests/studio and keeps some of their screenshots. Needs chromium, the
Debian packages of `scripts/install_deps.sh test`, and for story the weights of `scripts/fetch_backbone.sh`.
"""
import argparse, gzip, os, pathlib, re, select, shutil, subprocess, sys, tempfile, time, zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import cv2, numpy

import terminal_picture
from tests.harness.devtools import Browser
from tests.studio.studying import Studio

PICTURES = ROOT / 'docs/pictures'
LENET = ROOT / 'models/lenet'
FASHION = '/usr/share/datasets/fashion-mnist/'
RUN = 'runs/first'
WIDE, SCALE, COLOURS = 960, 2, 192  # of screenshots: CSS pixels, pixels for each, entries of the palette
MOST_BYTES = 200000
TRIED = 5  # images
LAST_LINES = 6  # of a training that are shown
STORY = {'story_dataset': 'dataset', 'story_prepared': 'prepared', 'story_finished': 'run', 'story_test_set': 'report',
         'story_try': 'try', 'detections': 'detections'}  # of the tests: names in the documentation
HEIGHTS = {1280: 900, 390: 844}  # of these pictures, by width


class Place:
    """A temporary folder with a dataset, a net and solver for it, and an image."""

    def __init__(self, cortado, folder):
        self.cortado, self.folder = cortado, pathlib.Path(folder)
        self.programs = self.folder / 'programs'  # in PATH: the command is `cortado`, whatever the file's name
        self.programs.mkdir()
        (self.programs / 'cortado').symlink_to(cortado)
        (self.folder / 'work').mkdir()
        self.work = self.folder / 'work'

    def run(self, *words):
        done = subprocess.run([self.cortado, *words], cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode: sys.exit(done.stderr)

    def make_dataset(self):
        """data/fashion/; boot.pgm, the first image of the test set; and the first ones as image_N.png."""
        (self.work / 'data/fashion').mkdir(parents=True)
        for prefix, part in ('train', 'train'), ('t10k', 'test'):
            self.run('convert', 'idx', FASHION + prefix + '-images-idx3-ubyte.gz',
                     FASHION + prefix + '-labels-idx1-ubyte.gz', '-o', 'data/fashion/%s_lmdb' % part)
        shutil.copy(LENET / 'fashion_mnist_labels.txt', self.work / 'data/fashion/labels.txt')
        images = gzip.open(FASHION + 't10k-images-idx3-ubyte.gz').read(16 + TRIED * 784)[16:]
        (self.work / 'boot.pgm').write_bytes(b'P5 28 28 255\n' + images[:784])
        for i, image in enumerate(numpy.frombuffer(images, numpy.uint8).reshape(TRIED, 28, 28)):
            cv2.imwrite(str(self.work / ('image_%d.png' % i)), image)

    def make_net(self):
        """lenet/ for the dataset, and net.prototxt with two errors."""
        self.run('new', 'classifier', '--data=data/fashion', '--from=%s/train_val.prototxt' % LENET, '--epochs=3',
                 '-o', 'lenet')
        for path in self.work.glob('lenet/*.prototxt'):  # the temporary folder's name is of no interest
            path.write_text(path.read_text().replace('%s/' % self.work, ''))
        solver = self.work / 'lenet/solver.prototxt'
        text = re.sub(r'(?m)^(test_interval|display|snapshot): .*\n', '', solver.read_text())
        solver.write_text(text + 'test_interval: 200 display: 20 snapshot: 1000\n')  # curves with more points
        net = (self.work / 'lenet/train_val.prototxt').read_text()
        net = net.replace('num_output: 20', 'num_outptu: 20', 1)
        self.broken = net.replace('bottom: "pool1"', 'bottom: "pool9"', 1)
        assert self.broken.count('num_outptu') == self.broken.count('"pool9"') == 1
        (self.work / 'net.prototxt').write_text(self.broken)


class Training:
    """`cortado train` in a terminal."""

    def __init__(self, place):
        self.command = 'cortado train lenet/solver.prototxt --run=%s --seed=1' % RUN
        self.process, self.descriptor = terminal_picture.start(self.command.split(), place.work, str(place.programs))
        self.output = ''

    def read_until(self, share):
        """Reads its output until this share of the training is done, or until it ends."""
        while self.process.poll() is None:
            if select.select([self.descriptor], [], [], 1)[0]:
                try: self.output += os.read(self.descriptor, 65536).decode(errors='replace')
                except OSError: return
            shares = re.findall(r'train \d+/\d+ (\d+)%', self.output)
            if shares and int(shares[-1]) >= 100 * share: return

    def finish(self):
        self.output += terminal_picture.read_all(self.process, self.descriptor)
        assert self.process.returncode == 0, self.output


def shown(place, command, exit_code=0):
    """A prompt with this command, and the rows of its output."""
    process, descriptor = terminal_picture.start(command.split(), place.work, str(place.programs))
    output = terminal_picture.read_all(process, descriptor)
    assert process.returncode == exit_code, output
    return [terminal_picture.prompt(command), *terminal_picture.screen(output), []]


def draw_terminal(place, training):
    rows = shown(place, 'cortado check net.prototxt', 3)
    lines = terminal_picture.screen(training.output)[-LAST_LINES:]
    rows += [terminal_picture.prompt(training.command), [('…', 'prompt')], *lines, []]
    rows += shown(place, 'cortado classify -q %s boot.pgm' % RUN)[:-1]
    write('terminal.svg', terminal_picture.draw(rows, 'cortado check, train and classify in a terminal').encode())


def reduced(png):
    """The picture with a palette of its COLOURS most frequent colours, as PNG."""
    image = cv2.imdecode(numpy.frombuffer(png, numpy.uint8), cv2.IMREAD_COLOR)[:, :, ::-1].astype(numpy.int32)
    codes = image[:, :, 0] << 16 | image[:, :, 1] << 8 | image[:, :, 2]
    colours, index, counts = numpy.unique(codes, return_inverse=True, return_counts=True)
    kept = numpy.sort(numpy.argsort(-counts, kind='stable')[:COLOURS])
    def channels(values): return numpy.stack([values >> 16, values >> 8 & 255, values & 255], axis=-1)
    palette = channels(colours[kept])
    nearest = ((channels(colours)[:, None] - palette[None]) ** 2).sum(axis=-1).argmin(axis=1)
    rows = nearest[index].reshape(codes.shape).astype(numpy.uint8)
    lines = numpy.hstack([numpy.zeros((rows.shape[0], 1), numpy.uint8), rows])  # each with filter 0
    return b'\x89PNG\r\n\x1a\n' + b''.join([
        chunk(b'IHDR', rows.shape[1].to_bytes(4, 'big') + rows.shape[0].to_bytes(4, 'big') + bytes([8, 3, 0, 0, 0])),
        chunk(b'PLTE', palette.astype(numpy.uint8).tobytes()), chunk(b'IDAT', zlib.compress(lines.tobytes(), 9)),
        chunk(b'IEND', b'')])


def chunk(kind, content):
    return len(content).to_bytes(4, 'big') + kind + content + zlib.crc32(kind + content).to_bytes(4, 'big')


def write(name, content):
    assert len(content) <= MOST_BYTES, '%s has %d bytes' % (name, len(content))
    (PICTURES / name).write_bytes(content)
    print('docs/pictures/%s: %d bytes' % (name, len(content)))


class Screens:
    """The studio in a browser."""

    def __init__(self, browser, studio):
        self.browser, self.origin = browser, 'http://127.0.0.1:%d/' % studio.port
        self.look('light', 600)
        browser.open(studio.address)
        browser.wait_for('document.querySelector("nav a")')

    def look(self, scheme, height):
        self.browser.look_like(WIDE, scheme, height, SCALE)

    def open(self, fragment):
        self.browser.value('location.hash = "%s"' % fragment)

    def set(self, label, value):
        """Chooses a value in the list whose label begins so."""
        self.browser.value('(() => { const it = [...document.querySelectorAll("label")].find(one => one.textContent'
                           '.startsWith("%s")).querySelector("select"); it.value = "%s"; '
                           'it.dispatchEvent(new Event("change")); })()' % (label, value))

    def take(self, name):
        self.browser.wait_for('document.getElementById("message").textContent === ""')
        write(name, reduced(self.browser.screenshot(name)))

    def run(self):
        self.open('#/run?path=' + RUN)
        self.browser.wait_for('document.querySelectorAll(".chart svg[role=img]").length > 2')
        self.look('light', 710)
        self.take('studio_run.png')

    def nets(self, broken):
        self.open('#/nets?path=lenet/train_val.prototxt')
        self.browser.wait_for('document.querySelector(".graph img")?.naturalWidth > 100')
        self.browser.type('document.querySelector(".editor textarea")', broken)
        self.browser.wait_for('document.querySelectorAll("mark").length === 2')
        self.browser.value('document.activeElement.blur(); const area = document.querySelector(".editor textarea"); '
                           'area.style.height = "18rem"; area.scrollTop = 25 * parseFloat(getComputedStyle(area).'
                           'lineHeight)')
        self.look('light', 890)
        self.browser.value('scrollTo(0, 0)')
        self.take('studio_nets.png')

    def classes(self, images, snapshot):
        self.open('#/try?run=%s&snapshot=%s' % (RUN, snapshot))
        self.browser.wait_for('document.querySelectorAll("select")[3]?.options.length > 1')
        self.browser.choose_files('input[type=file]', *images)
        self.browser.wait_for('document.querySelectorAll(".scores").length === %d' % len(images))
        for label in 'Activations of', 'Weights of': self.set(label, 'conv1')
        self.browser.wait_for('document.querySelectorAll("img.tiles").length === 2')
        self.look('dark', 1030)
        self.take('studio_try.png')


def take_studio_and_terminal(cortado, only):
    chromium = shutil.which('chromium')
    if not chromium: sys.exit('pictures.py: error: chromium is missing\nhint: apt-get install chromium')
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Place(cortado, folder)
        place.make_dataset()
        place.make_net()
        (place.folder / 'browser').mkdir()
        with Studio(cortado, place.work) as studio, Browser(chromium, str(place.folder / 'browser')) as browser:
            screens, training = Screens(browser, studio), Training(place)
            try:
                training.read_until(0.7)
                if only != 'terminal': screens.run()
                training.finish()
            finally: training.process.kill()
            if only != 'studio': draw_terminal(place, training)
            if only != 'terminal':
                screens.nets(place.broken)
                screens.classes(sorted(place.work.glob('image_*.png')), 'lenet_best.caffemodel')


def take_story(cortado):
    """The pages that the browser tests of tests/studio look at, at both widths, light and dark."""
    tests = ['tests/studio/%s_page_test.py' % name for name in ('backbone', 'detector')]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['/usr/bin/python3', '-m', 'pytest', '-q', '--cortado=' + cortado, *tests], cwd=ROOT, check=True,
                       env={**os.environ, 'CORTADO_SCREENSHOTS': folder})
        (PICTURES / 'studio').mkdir(exist_ok=True)
        for source, name in STORY.items():
            for width, height in HEIGHTS.items():
                for scheme in 'light', 'dark':
                    picture = cv2.imread('%s/%s_%d_%s.png' % (folder, source, width, scheme))
                    png = cv2.imencode('.png', picture[:height])[1].tobytes()
                    write('studio/%s_%d_%s.png' % (name, width, scheme), reduced(png))


def draw_net(cortado):
    subprocess.run([cortado, 'draw', LENET / 'deploy.prototxt', PICTURES / 'net.svg', '--phase=TEST', '--force',
                    '--quiet'], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--cortado', default=ROOT / 'build/bin/cortado', type=pathlib.Path)
    parser.add_argument('--only', choices=['studio', 'terminal', 'net', 'speed', 'schedules', 'story'])
    arguments = parser.parse_args()
    cortado = str(arguments.cortado.resolve())
    if not os.access(cortado, os.X_OK): parser.error('%s is not a program' % arguments.cortado)
    begin = time.time()
    if arguments.only in (None, 'net'): draw_net(cortado)
    if arguments.only in (None, 'speed'): subprocess.run([ROOT / 'scripts/dev/draw_speed.py'], check=True)
    if arguments.only in (None, 'schedules'):
        subprocess.run([ROOT / 'scripts/dev/draw_schedules.py', cortado], check=True)
    if arguments.only in (None, 'studio', 'terminal'): take_studio_and_terminal(cortado, arguments.only)
    if arguments.only in (None, 'story'): take_story(cortado)
    print('%.0f s' % (time.time() - begin))


if __name__ == '__main__':
    main()
