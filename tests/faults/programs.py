"""The programs that faults are tried on. Each has a folder to begin with, made once, what it runs, and what must hold
afterwards."""
import glob, json, os, re, shutil, subprocess

from tests.cli import fixtures

NET = '''name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.00390625 mirror: true }
  data_param { source: "set" batch_size: 8 backend: LMDB shuffle: true } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 8 weight_filler { type: "xavier" } } }
layer { name: "drop" type: "Dropout" bottom: "ip" top: "ip" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip" top: "ip2"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
'''
SOLVER = '''net: "net.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 12 display: 4 snapshot: 3
snapshot_prefix: "%s" keep_last: 2 random_seed: 3 solver_mode: CPU
'''
HONEST = (0, 2, 4, 5, 8)  # what a call that fails may end in


def tail(done, what=''): return '%s: exit %s: %s' % (what, done.returncode, (done.stdout + done.stderr)[-1200:])


def read(path):
    with open(path, 'rb') as f: return f.read()


class Program:
    """`begin`: a folder that stands for the state of the disk before; `exe` the program under test."""
    words, name = (), ''
    takes_short_writes = True
    struck = ''  # the program in which faults happen, where that is a child

    def __init__(self, exe, begin):
        self.exe, self.begin = exe, begin
        os.makedirs(begin)
        here = os.getcwd()
        os.chdir(begin)
        self.prepare()
        os.chdir(here)

    def command(self): return [self.exe, *self.words]

    def sound(self, folder, *words, codes=(0,)):
        """Runs without faults, and ends well."""
        done = subprocess.run([self.exe, *words], cwd=folder, capture_output=True, text=True, errors='replace',
                              timeout=120)
        assert done.returncode in codes, tail(done, 'afterwards `%s` does not work' % ' '.join(words))
        return done

    def make_set(self):
        fixtures.idx('images', 'labels', n=40)
        self.sound('.', 'convert', 'idx', 'images', 'labels', '-o', 'set')
        with open('net.prototxt', 'w') as f: f.write(NET)

    def check_end(self, done, action):
        """That it ended, and how."""
        assert done is not None, 'it does not end'
        if action in ('before', 'after') and not self.struck:
            assert done.returncode in (0, 99), tail(done, 'it ended otherwise')
            return
        assert done.returncode in HONEST, tail(done, 'it ended otherwise')
        if (action == 'short' or action.endswith(':4')) and self.takes_short_writes and not self.struck:
            assert done.returncode == 0, tail(done, 'no reason to fail')


class Training(Program):
    """With a run's folder, into which the snapshots go, of which two are kept."""
    name, words = 'training', ('train', '--solver=solver.prototxt', '--run=run')

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f: f.write(SOLVER % 'snap')
        shutil.copytree('.', '../training.whole')
        self.sound('../training.whole', *self.words)
        self.wanted = read(self.last('../training.whole')[0])

    def last(self, folder): return glob.glob(folder + '/run/snapshots/*_iter_12.caffemodel')

    def announced(self, folder):
        """Snapshots that the run says it has."""
        path = folder + '/run/metrics.jsonl'
        if not os.path.exists(path): return []
        return [int(n) for n in re.findall(r'"ev":"snapshot","iter":(\d+)', read(path).decode())]

    def check(self, folder, done, action):
        self.check_end(done, action)
        if done.returncode == 0:
            assert self.last(folder) and read(self.last(folder)[0]) == self.wanted, tail(done, 'false success')
        self.check_rest(folder)

    def check_rest(self, folder):
        told = max(self.announced(folder), default=-1)
        if told >= 0:
            whole = self.whole_snapshots(folder)
            assert max(whole, default=-1) >= told, 'announced was iteration %d, whole are %s' % (told, whole)
        self.resume(folder)

    def resume(self, folder):
        """As a user would: a run that has begun is gone on with, else it begins."""
        begun = os.path.exists(folder + '/run/run.json')
        if not begun: shutil.rmtree(folder + '/run', ignore_errors=True)
        self.sound(folder, *(('train', '--resume=run') if begun else self.words))
        assert read(self.last(folder)[0]) == self.wanted, 'a resume ends with other weights'

    def whole_snapshots(self, folder):
        """Iterations of those that can be resumed from."""
        if not glob.glob(folder + '/run/snapshots/*_iter_*'): return []
        done = self.sound(folder, 'snapshot', 'verify', 'run/snapshots', '--json', codes=(0, 8))
        return [one['iter'] for one in json.loads(done.stdout) if not one['problem']]


class Resume(Program):
    """A training that goes on where another stopped."""
    name, words = 'resume', ('train', '--solver=solver.prototxt', '--snapshot=auto')
    more, end = '', ''

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f: f.write(SOLVER % 'snap' + self.more)
        self.sound('.', *self.words)
        self.wanted = read('snap_iter_12.caffemodel' + self.end)
        for name in glob.glob('snap_iter_*'): os.remove(name)
        self.sound('.', *self.words, '--set', 'solver.max_iter=7')

    def check(self, folder, done, action):
        self.check_end(done, action)
        last = folder + '/snap_iter_12.caffemodel' + self.end
        if done.returncode == 0: assert os.path.exists(last) and read(last) == self.wanted, tail(done, 'false success')
        self.check_rest(folder)

    def check_rest(self, folder): self.resume(folder)

    def resume(self, folder):
        done = self.sound(folder, *self.words)
        assert 'Restoring previous solver status' in done.stderr, tail(done, 'no snapshot is left')
        assert read(folder + '/snap_iter_12.caffemodel' + self.end) == self.wanted, 'a resume ends with other weights'


class Hdf5(Resume):
    """The same with snapshots in HDF5, which a child reads and writes: it is the child that is struck."""
    name, more, end, struck = 'hdf5', 'snapshot_format: HDF5\n', '.h5', 'cortado-hdf5'


class Conversion(Program):
    """Of images over an older dataset."""
    name, words = 'conversion', ('convert', 'imageset', 'pictures/', 'list.txt', 'db', '--force')

    takes_short_writes = False  # liblmdb gives up, and says so; so it does where reading is interrupted

    def prepare(self):
        fixtures.idx('images', 'labels', n=8)
        self.sound('.', 'convert', 'idx', 'images', 'labels', '-o', 'db')
        self.old = fixtures.read_lmdb('db')
        with open('list.txt', 'w') as f:
            for i in range(12):
                fixtures.ppm('pictures/%d.ppm' % i, color=(20 * i, 100, 50))
                f.write('%d.ppm %d\n' % (i, i % 4))
        shutil.copytree('.', '../conversion.whole')
        self.sound('../conversion.whole', *self.words)
        self.new = fixtures.read_lmdb('../conversion.whole/db')

    def check(self, folder, done, action):
        self.check_end(done, action)
        self.check_rest(folder, done.returncode == 0)

    def check_rest(self, folder, said_so=False):
        assert os.path.exists(folder + '/db'), 'there is no dataset'
        self.sound(folder, 'data', 'verify', 'db')
        records = fixtures.read_lmdb(folder + '/db')
        assert records in (self.old, self.new), 'the dataset is neither the old one nor the new one'
        assert not said_so or records == self.new, 'false success'
        self.sound(folder, *self.words)
        assert fixtures.read_lmdb(folder + '/db') == self.new, 'another conversion does not mend it'


class Report(Program):
    """Of a run that has one already."""
    name, words = 'report', ('report', 'run')

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f: f.write(SOLVER % 'snap')
        self.sound('.', 'train', '--solver=solver.prototxt', '--run=run')
        self.sound('.', *self.words)
        self.old = read('run/report.html')
        self.sections = self.headings('.')

    def headings(self, folder):
        """What a report has, whatever was measured."""
        return re.findall(r'<h[12][^>]*>[^<]*', read(folder + '/run/report.html').decode())

    def check(self, folder, done, action):
        self.check_end(done, action)
        page = read(folder + '/run/report.html')
        assert page.rstrip().endswith(b'</html>'), tail(done, 'the report is cut off')
        if done.returncode == 0 and not (done.stderr.strip() or done.stdout.strip() != 'run/report.html'):
            missing = sorted(set(self.sections) - set(self.headings(folder)))
            assert self.headings(folder) == self.sections, tail(done, 'nothing is said of missing %s' % missing)
        self.sound(folder, *self.words)
        assert self.headings(folder) == self.sections, 'another report is not whole'
