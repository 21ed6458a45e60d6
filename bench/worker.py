"""Measured processes. Each waits on a pipe, and the driver lets only one run at a time."""
import os
import select
import subprocess
import tempfile

# A waiting worker must not spin: it would take the core that is being measured.
PASSIVE = {'OMP_WAIT_POLICY': 'passive', 'GOMP_SPINCOUNT': '20000', 'KMP_BLOCKTIME': '0'}
ACTIVE = {'OMP_WAIT_POLICY': 'active'}
AS_USERS_DO = {}
TICKS = os.sysconf('SC_CLK_TCK')


class WorkerEnded(Exception):
    """The worker exited or timed out, for the reason in the text."""


class Worker:
    def __init__(self, setting, command, threads, waiting=PASSIVE):
        self.setting = setting
        self.errors = tempfile.TemporaryFile(mode='w+')
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), **waiting)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=env, start_new_session=True)
        self.name = self.flops = None

    def greet(self, timeout=None):
        """Waits until the worker is ready."""
        _, *words = self.answer(timeout)
        if words[0] == 'Cortado':
            self.flops = float(words.pop())
        self.name = ' '.join(words)
        return self

    def answer(self, timeout=None):
        if timeout is not None and not select.select([self.process.stdout], [], [], timeout)[0]:
            self.kill()
            raise WorkerEnded('no answer within %g s' % timeout)
        line = self.process.stdout.readline()
        if not line:
            raise WorkerEnded(self.last_words())
        return line.split()

    def last_words(self):
        self.errors.seek(0)
        said = [line for line in self.errors.read().splitlines() if line.strip()]
        return said[-1] if said else 'exited without output, status %s' % self.process.wait()

    def send(self, text):
        try:
            self.process.stdin.write(text + '\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() reports the error

    def ask(self, text, timeout=None):
        self.send(text)
        return [float(word) for word in self.answer(timeout)]

    def step(self, count, timeout=None):
        """Returns (mean seconds of a step, the values of all steps)."""
        seconds, *values = self.ask('step %d' % count, timeout)
        return seconds / count, values

    def cpu_seconds(self):
        with open('/proc/%d/stat' % self.process.pid) as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.kill() if kind else self.close()


def waiting_of(options):
    """How threads wait: with busy processes alongside, each program's own default."""
    return AS_USERS_DO if options.contended else PASSIVE


def start_all(commands, threads, first_step, tell, waiting=PASSIVE):
    """Starts workers {setting: command} concurrently and runs two steps of each; skips those that fail. The first step
    may compile, so its limit is `first_step` seconds."""
    workers = [Worker(setting, command, threads, waiting) for setting, command in commands.items()]
    ready = []
    for worker in workers:
        try:
            worker.greet()
            worker.send('step 1')
            ready.append(worker)
        except WorkerEnded as reason:
            tell('%s: skipped: %s' % (worker.setting, reason))
    started = []
    for worker in ready:
        try:
            worker.answer(first_step)
            worker.step(1, first_step)
            started.append(worker)
        except WorkerEnded as reason:
            tell('%s: skipped: %s' % (worker.setting, reason))
    return started
