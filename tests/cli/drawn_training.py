"""Small random trainings, for tests that end trainings at random times: every update rule of Caffe, test phases,
iter_size, dropout, shuffle, mirror and random crops, devices, threads and ranks."""
import collections, ctypes, os, signal, subprocess, time
from tests.cli.workplace import DATA, Workplace

ITERS, SNAPSHOT = 40, 7

RULES = {'SGD': 'base_lr: 0.01 momentum: 0.9',
         'Nesterov': 'base_lr: 0.01 momentum: 0.9',
         'AdaGrad': 'base_lr: 0.01',
         'RMSProp': 'base_lr: 0.001 rms_decay: 0.98',
         'AdaDelta': 'base_lr: 1 momentum: 0.95 delta: 1e-6',
         'Adam': 'base_lr: 0.001 momentum: 0.9 momentum2: 0.999'}

NET = 'name: "drawn"\n' + DATA.replace('batch_size: 16', 'batch_size: 8') + '''
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 5 stride: 2 weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
layer { name: "relu" type: "ReLU" bottom: "norm" top: "norm" }
layer { name: "drop" type: "Dropout" bottom: "norm" top: "norm" dropout_param { dropout_ratio: 0.4 } }
layer { name: "ip" type: "InnerProduct" bottom: "norm" top: "ip"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''

SOLVER = '''net: "net.prototxt" type: "%(rule)s" %(options)s
iter_size: %(iter_size)d shards: %(shards)d weight_decay: 0.0005 clip_gradients: %(clip)d
lr_policy: "multistep" gamma: 0.5 stepvalue: 12 stepvalue: 30 max_iter: %(iters)d display: 10
test_iter: 2 test_interval: 10 snapshot: %(snapshot)d snapshot_prefix: "snap" random_seed: 7
'''

Drawn = collections.namedtuple('Drawn', 'rule iter_size clip shards flags')
Ended = collections.namedtuple('Ended', 'weights tests seconds')


def draw_training(draw, flags=''):
    """A random training; `flags` may set its device."""
    devices = ['', '', '--gpu=simulated', '--gpu=simulated --precision=fp16']
    return Drawn(draw.choice(sorted(RULES)), draw.choice([1, 1, 2]), draw.choice([-1, -1, 1]), draw.choice([1, 1, 3]),
                 '--threads=%d --data-threads=%d %s' % (draw.choice([1, 2]), draw.choice([1, 2]),
                                                        flags or draw.choice(devices)))

def draw_ranks(draw, drawn): return draw.randint(1, drawn.shards)

def text_of(drawn):
    return '%s, iter_size %d, clip %d, %d shards, %s' % drawn


class DrawnPlace(Workplace):
    """A folder for random trainings; caches the result of each without interruption."""

    def __init__(self, exe):
        super().__init__(exe)
        adopt_orphans()
        self.write('net.prototxt', NET)
        self.known = {}

    def begin(self, drawn):
        """Clears the folder and writes the solver."""
        self.clear()
        self.write('solver.prototxt', SOLVER % dict(drawn._asdict(), options=RULES[drawn.rule], iters=ITERS,
                                                    snapshot=SNAPSHOT))

    def start(self, drawn, ranks, *more):
        """Starts it in a session of its own, so that its remaining processes can be found."""
        ranked = ['--ranks=%d' % ranks] if ranks > 1 else []
        command = [self.exe, 'train', '--solver=solver.prototxt', '--stall-limit=60', *drawn.flags.split(), *ranked]
        return subprocess.Popen([*command, *more], cwd=self.name, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def finish(self, drawn, ranks, *more):
        """Runs it to its end."""
        begun = time.monotonic()
        process = self.start(drawn, ranks, *more)
        log = end_of(process)
        assert process.returncode == 0, 'exit %d\n%s' % (process.returncode, log[-3000:])
        return log, Ended(self.weights(), last_test(log), time.monotonic() - begun)

    def uninterrupted(self, drawn):
        if drawn not in self.known:
            self.begin(drawn)
            self.known[drawn] = self.finish(drawn, 1)[1]
        return self.known[drawn]

    def weights(self):
        with open(self.path('snap_iter_%d.caffemodel' % ITERS), 'rb') as f: return f.read()

    def snapshots(self):
        """The iterations of all solver states."""
        ends = 'snap_iter_', '.solverstate'
        return sorted(int(name[len(ends[0]):-len(ends[1])]) for name in os.listdir(self.name)
                      if name.startswith(ends[0]) and name.endswith(ends[1]))

    def resume(self, drawn, ranks):
        """Resumes the training. Returns the difference from the uninterrupted training ("" without one) and the
        iteration that it resumed from."""
        expected = self.known[drawn]
        log, ended = self.finish(drawn, ranks, '--snapshot=auto')
        restored = [line for line in log.splitlines() if 'Restoring previous solver status from' in line]
        begins = int(restored[0].rpartition('_iter_')[2].partition('.')[0]) if restored else 0
        differs = 'other weights' if ended.weights != expected.weights else ''
        if ended.tests != expected.tests: differs += ' other scores: %s, not %s' % (ended.tests, expected.tests)
        return differs, begins


def end_of(process, limit=200):
    """Its log until its end. After `limit` seconds its session is killed."""
    try: return process.communicate(timeout=limit)[1]
    except subprocess.TimeoutExpired:
        for pid in session_of(process.pid): os.kill(pid, signal.SIGKILL)
        log = process.communicate()[1]
        raise AssertionError('still running after %d s:\n%s' % (limit, log[-2000:])) from None

def last_test(log):
    lines = [line.partition('] ')[2].strip() for line in log.splitlines()]
    at = max(i for i, line in enumerate(lines) if 'Testing net' in line)
    return [line for line in lines[at:] if 'Test net output' in line]

def session_of(pid):
    """The processes of the session that `pid` leads, including zombies: pid -> state."""
    found = {}
    for name in os.listdir('/proc'):
        if not name.isdigit(): continue
        try: words = open('/proc/%s/stat' % name).read().rpartition(')')[2].split()
        except OSError: continue
        if int(words[3]) == pid: found[int(name)] = words[0]
    return found

def adopt_orphans():
    """Makes this process the parent of orphaned ranks, so that it can wait for them."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

def remaining(pid, seconds=1):
    """The processes of a session after its leader has ended; waits for them up to `seconds`."""
    until = time.monotonic() + seconds
    while True:
        for orphan in session_of(pid):
            try: os.waitpid(orphan, os.WNOHANG)
            except ChildProcessError: pass
        left = session_of(pid)
        if not left or time.monotonic() > until: return left
        time.sleep(0.005)
