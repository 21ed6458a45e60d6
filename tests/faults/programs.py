"""The programs under test. Each has an initial folder, a command, and a check of the state after a fault."""
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
HONEST = (0, 2, 4, 5, 8)  # exit codes that are allowed after a failed call


def tail(done, what=''): return '%s: exit %s: %s' % (what, done.returncode, (done.stdout + done.stderr)[-1200:])


def read(path):
    with open(path, 'rb') as f: return f.read()


class Program:
    """`begin`: the initial folder; `exe`: the program under test."""
    words, name = (), ''
    takes_short_writes = True
    child = ''  # the child process that faults are injected into; '': into the program itself

    def __init__(self, exe, begin):
        self.exe, self.begin = exe, begin
        os.makedirs(begin)
        here = os.getcwd()
        os.chdir(begin)
        self.prepare()
        os.chdir(here)

    def command(self): return [self.exe, *self.words]

    def sound(self, folder, *words, codes=(0,)):
        """Runs the program without faults, which must succeed."""
        done = subprocess.run([self.exe, *words], cwd=folder, capture_output=True, text=True, errors='replace',
                              timeout=120)
        assert done.returncode in codes, tail(done, '`%s` fails after the fault' % ' '.join(words))
        return done

    def make_set(self):
        fixtures.idx('images', 'labels', n=40)
        self.sound('.', 'convert', 'idx', 'images', 'labels', '-o', 'set')
        with open('net.prototxt', 'w') as f: f.write(NET)

    def check_end(self, done, action):
        """Checks that the program ended, and its exit code."""
        assert done is not None, 'the program hangs'
        if action in ('before', 'after') and not self.child:
            assert done.returncode in (0, 99), tail(done, 'unexpected exit code')
            return
        assert done.returncode in HONEST, tail(done, 'unexpected exit code')
        if (action == 'short' or action.endswith(':4')) and self.takes_short_writes and not self.child:
            assert done.returncode == 0, tail(done, 'it failed although it must retry')


class Training(Program):
    """A training with a run folder, which keeps the last two snapshots."""
    name, words = 'training', ('train', '--solver=solver.prototxt', '--run=run')

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f: f.write(SOLVER % 'snap')
        shutil.copytree('.', '../training.whole')
        self.sound('../training.whole', *self.words)
        self.expected = read(self.last('../training.whole')[0])

    def last(self, folder): return glob.glob(folder + '/run/snapshots/*_iter_12.caffemodel')

    def announced(self, folder):
        """The snapshots that the run's metrics list."""
        path = folder + '/run/metrics.jsonl'
        if not os.path.exists(path): return []
        return [int(n) for n in re.findall(r'"ev":"snapshot","iter":(\d+)', read(path).decode())]

    def check(self, folder, done, action):
        self.check_end(done, action)
        if done.returncode == 0:
            good = self.last(folder) and read(self.last(folder)[0]) == self.expected
            assert good, tail(done, 'exit code 0 without the result')
        self.check_rest(folder)

    def check_rest(self, folder):
        last = max(self.announced(folder), default=-1)
        if last >= 0:
            whole = self.whole_snapshots(folder)
            assert max(whole, default=-1) >= last, 'iteration %d was announced, valid are %s' % (last, whole)
        self.resume(folder)

    def resume(self, folder):
        """Resumes the run if it has begun, else starts it again."""
        begun = os.path.exists(folder + '/run/run.json')
        if not begun: shutil.rmtree(folder + '/run', ignore_errors=True)
        self.sound(folder, *(('train', '--resume=run') if begun else self.words))
        assert read(self.last(folder)[0]) == self.expected, 'the resumed training has other weights'

    def whole_snapshots(self, folder):
        """The iterations of valid snapshots."""
        if not glob.glob(folder + '/run/snapshots/*_iter_*'): return []
        done = self.sound(folder, 'snapshot', 'verify', 'run/snapshots', '--json', codes=(0, 8))
        return [one['iter'] for one in json.loads(done.stdout) if not one['problem']]


class Resume(Program):
    """A training that resumes from a snapshot."""
    name, words = 'resume', ('train', '--solver=solver.prototxt', '--snapshot=auto')
    more, end = '', ''

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f: f.write(SOLVER % 'snap' + self.more)
        self.sound('.', *self.words)
        self.expected = read('snap_iter_12.caffemodel' + self.end)
        for name in glob.glob('snap_iter_*'): os.remove(name)
        self.sound('.', *self.words, '--set', 'solver.max_iter=7')

    def check(self, folder, done, action):
        self.check_end(done, action)
        last = folder + '/snap_iter_12.caffemodel' + self.end
        if done.returncode == 0:
            good = os.path.exists(last) and read(last) == self.expected
            assert good, tail(done, 'exit code 0 without the result')
        self.check_rest(folder)

    def check_rest(self, folder): self.resume(folder)

    def resume(self, folder):
        done = self.sound(folder, *self.words)
        assert 'Restoring previous solver status' in done.stderr, tail(done, 'it did not resume from a snapshot')
        last = folder + '/snap_iter_12.caffemodel' + self.end
        assert read(last) == self.expected, 'the resumed training has other weights'


class Hdf5(Resume):
    """The same with HDF5 snapshots, which a child process reads and writes: faults are injected into the child."""
    name, more, end, child = 'hdf5', 'snapshot_format: HDF5\n', '.h5', 'cortado-hdf5'


class Conversion(Program):
    """A conversion of images, which replaces a dataset."""
    name, words = 'conversion', ('convert', 'imageset', 'pictures/', 'list.txt', 'db', '--force')

    takes_short_writes = False  # liblmdb reports an error after a short write, and after an interrupted read

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

    def check_rest(self, folder, succeeded=False):
        assert os.path.exists(folder + '/db'), 'the dataset does not exist'
        self.sound(folder, 'data', 'verify', 'db')
        records = fixtures.read_lmdb(folder + '/db')
        assert records in (self.old, self.new), 'the dataset is neither the old one nor the new one'
        assert not succeeded or records == self.new, 'exit code 0 without the new dataset'
        self.sound(folder, *self.words)
        assert fixtures.read_lmdb(folder + '/db') == self.new, 'another conversion does not repair it'


class Report(Program):
    """The report of a run, which replaces an older one."""
    name, words = 'report', ('report', 'run')

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f: f.write(SOLVER % 'snap')
        self.sound('.', 'train', '--solver=solver.prototxt', '--run=run')
        self.sound('.', *self.words)
        self.old = read('run/report.html')
        self.sections = self.headings('.')

    def headings(self, folder):
        """The report's headings, which do not depend on measured values."""
        return re.findall(r'<h[12][^>]*>[^<]*', read(folder + '/run/report.html').decode())

    def check(self, folder, done, action):
        self.check_end(done, action)
        page = read(folder + '/run/report.html')
        assert page.rstrip().endswith(b'</html>'), tail(done, 'the report is truncated')
        if done.returncode == 0 and not (done.stderr.strip() or done.stdout.strip() != 'run/report.html'):
            missing = sorted(set(self.sections) - set(self.headings(folder)))
            assert self.headings(folder) == self.sections, tail(done, 'no message about missing %s' % missing)
        self.sound(folder, *self.words)
        assert self.headings(folder) == self.sections, 'another report is incomplete'


def content_of(folder):
    """{path: bytes} of the files in a folder, None for empty folders; {} without the folder."""
    found = {}
    for place, folders, names in os.walk(folder):
        here = os.path.relpath(place, folder)
        if not folders and not names: found[here] = None
        for name in names: found[os.path.join(here, name)] = read(os.path.join(place, name))
    return found


class NewFolder(Program):
    """A command that writes the folder `made`, completely or not at all."""
    made = 'made'

    def prepare(self):
        for i in range(24): fixtures.ppm('pictures/%s/%d.ppm' % ('ab'[i % 2], i), color=(10 * i, 100, 50))
        self.sound('.', 'convert', 'folder', 'pictures', '-o', 'sets', '--split=0.25')
        shutil.copytree('.', self.name_of_whole())
        self.sound(self.name_of_whole(), *self.words)
        self.whole = content_of('%s/%s' % (self.name_of_whole(), self.made))
        assert self.whole

    def name_of_whole(self): return '../%s.whole' % self.name

    def check(self, folder, done, action):
        self.check_end(done, action)
        made = content_of('%s/%s' % (folder, self.made))
        assert done.returncode or made == self.whole, tail(done, 'exit code 0 without the result')
        if done.returncode != 99: assert made in ({}, self.whole), tail(done, 'it leaves %s' % sorted(made))
        self.check_rest(folder)

    def check_rest(self, folder, succeeded=False):
        made = '%s/%s' % (folder, self.made)
        for name, content in content_of(made).items():
            if '.tmp.' not in name and content is not None:
                assert content == self.whole[name], name + ' is incomplete'
        assert not succeeded or content_of(made) == self.whole, 'exit code 0 without durable files'
        self.again(folder)
        found = content_of(made)
        assert all(found.get(name) == content for name, content in self.whole.items()), 'it does not work again'

    def again(self, folder): self.sound(folder, *self.words)


class Export(NewFolder):
    """An export of a dataset as images."""
    name, words = 'export', ('data', 'export', 'sets/train_lmdb', '-o', 'made')
    takes_short_writes = False  # those of liblmdb, for the readers' table

    def again(self, folder):
        if not os.path.exists(folder + '/made'): super().again(folder)


class New(NewFolder):
    """The files of a new training."""
    name, words = 'new', ('new', 'classifier', '--data=sets', '-o', 'made')


class Writer(Program):
    """Any command that writes files; power_loss_test.py has the commands."""
    name = 'writer'

    def prepare(self):
        self.make_set()
        with open('solver.prototxt', 'w') as f:
            f.write(SOLVER % 'snap' + 'test_iter: 1 test_interval: 2 keep_best: "loss"\n')
        fixtures.npy('in.npy', (1, 1, 8, 8), [0.5] * 64)
        with open('old.prototxt', 'w') as f: f.write('layers { name: "x" type: DUMMY_DATA top: "x" '
                                                     'dummy_data_param { num: 1 channels: 2 height: 3 width: 4 } }\n')
        for i in range(8): fixtures.ppm('pictures/%s/%d.ppm' % ('ab'[i % 2], i), color=(10 * i, 100, 50))
        with open('detector.prototxt', 'w') as f:
            f.write('layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }\n'
                    'layer { name: "found" type: "DummyData" top: "found" dummy_data_param { '
                    'shape { dim: 1 dim: 1 dim: 1 dim: 7 } data_filler { value: 0.5 } } }\n'
                    'layer { name: "none" type: "Silence" bottom: "x" }\n')
        self.sound('.', 'convert', 'folder', 'pictures', '-o', 'sets', '--split=0.25')
        self.sound('.', 'train', '--solver=solver.prototxt', '--run=run')
        shutil.copy('run/snapshots/snap_best.caffemodel', 'w.caffemodel')
        self.sound('.', 'deploy', 'net.prototxt', '-o', 'deploy.prototxt')
        if os.path.exists(os.path.join(os.path.dirname(self.exe), 'cortado-onnx')):
            self.sound('.', 'convert', 'onnx', 'deploy.prototxt', 'w.caffemodel', '-o', 'net.onnx')
