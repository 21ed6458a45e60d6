"""Effects of signals on a training: exit codes, snapshots and its end."""
import os, signal, subprocess, time

import pytest

from tests.harness.waiting import is_within


class Training:
    """A running training."""

    def __init__(self, place, *flags, **more):
        self.process = subprocess.Popen([place.exe, 'train', '--solver=solver.prototxt', '--threads=1', *flags],
                                        cwd=place.name, stderr=subprocess.PIPE, text=True, **more)
        self.log = ''

    def read_until(self, text):
        for line in self.process.stderr:
            self.log += line
            if text in line: return
        raise AssertionError('no "%s" in:\n%s' % (text, self.log[-2000:]))

    def send(self, *signals):
        for s in signals: self.process.send_signal(s)

    def end(self, limit=60):
        """The exit code and the seconds until the end."""
        started = time.monotonic()
        self.log += self.process.communicate(timeout=limit)[1]
        return self.process.returncode, time.monotonic() - started


@pytest.fixture(scope='module')
def shared_place(training_folder):
    return training_folder(iters=100000000, snapshot=0, test_interval=1000000)


@pytest.fixture
def place(shared_place):
    """A training folder without snapshots."""
    shared_place.clear()
    return shared_place


@pytest.fixture
def begin(place):
    """begin('--sighup_effect=stop') is a training in `place` that has made 20 iterations."""
    begun = []
    def begin(*flags, **more):
        begun.append(Training(place, *flags, **more))
        begun[-1].read_until('Iteration 20')
        return begun[-1]
    yield begin
    for training in begun:
        training.process.kill()  # unless it has ended
        training.process.wait()


def snapshots(place): return sorted(n for n in os.listdir(place.name) if n.endswith('.solverstate'))


@pytest.mark.parametrize('number, code', [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 138)])
def test_signal_stops_with_a_snapshot_to_resume(place, begin, number, code):
    training = begin()
    training.send(number)
    assert training.end()[0] == code, training.log[-2000:]
    assert 'Optimization stopped early.' in training.log
    assert '] to resume: cortado train --solver=solver.prototxt --threads=1 --snapshot=snap_iter_' in training.log
    state, = snapshots(place)
    assert os.path.exists(place.path(state.replace('solverstate', 'caffemodel')))
    resumed = begin('--snapshot=auto')
    assert 'Restoring previous solver status from ' + state in resumed.log
    resumed.send(signal.SIGINT)
    resumed.end()


@pytest.mark.parametrize('flags, number', [((), signal.SIGHUP), (('--sigint_effect=snapshot',), signal.SIGINT)])
def test_training_continues_after_a_snapshot(place, begin, flags, number):
    training = begin(*flags)
    training.send(number)
    training.read_until('Snapshotting solver state')
    training.read_until(', lr = ')
    training.send(signal.SIGTERM)
    assert training.end()[0] == 143
    assert len(snapshots(place)) == 2


def test_signals_at_any_time(begin):
    """Signals also arrive while a library uses the stack pointer register for other data."""
    training = begin('--sighup_effect=none')
    for _ in range(3000):
        training.send(signal.SIGHUP)
        time.sleep(0.0003)
    training.send(signal.SIGTERM)
    assert training.end()[0] == 143, training.log[-2000:]


def test_signals_without_effect(place, begin):
    training = begin('-sigint_effect', 'none', '-sighup_effect', 'none')
    training.send(signal.SIGINT, signal.SIGHUP)
    training.read_until(', lr = ')
    training.read_until(', lr = ')
    assert not snapshots(place)
    training.send(signal.SIGTERM)
    assert training.end()[0] == 143


def test_hangup_stops_on_request(place, begin):
    training = begin('--sighup_effect=stop')
    training.send(signal.SIGHUP)
    assert training.end()[0] == 129
    assert len(snapshots(place)) == 1


def test_second_signal_ends_at_once(begin):
    """It interrupts the stop that the first signal began."""
    training = begin()
    training.send(signal.SIGINT)
    time.sleep(0.002)
    training.send(signal.SIGINT)
    returned, seconds = training.end()
    assert returned == 130 and is_within(seconds, 2)


def test_ignored_signals_stay_ignored(place, begin):
    """Signals that the parent process ignores (nohup, background jobs of a script)."""
    training = begin(preexec_fn=lambda: [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGHUP)])
    training.send(signal.SIGINT, signal.SIGHUP)
    training.read_until(', lr = ')
    training.read_until(', lr = ')
    training.send(signal.SIGINT)
    training.read_until(', lr = ')
    assert not snapshots(place)
    training.send(signal.SIGTERM)
    assert training.end()[0] == 143


def test_log_without_a_reader_ends_nothing(place, begin):
    training = begin()
    training.process.stderr.close()
    time.sleep(0.5)  # so that it writes more
    assert training.process.poll() is None
    training.send(signal.SIGINT)
    assert training.process.wait(60) == 130
    assert len(snapshots(place)) == 1


def test_second_trainer_is_refused(place, begin, run):
    """Two trainings must not write the same snapshots."""
    training = begin()
    assert 'hint: ' in run('train', '--solver=solver.prototxt', cwd=place.name, timeout=60, code=5).stderr
    training.send(signal.SIGINT)
    assert training.end()[0] == 130
