#!/usr/bin/python3
"""What signals do to a training: exit codes, snapshots, and that it ends. signals.py CORTADO"""
import os, signal, subprocess, sys, time
from workplace import Workplace


class Run:
    """A training that has begun."""

    def __init__(self, place, *flags, **more):
        self.process = subprocess.Popen([place.exe, 'train', '--solver=solver.prototxt', '--threads=1', *flags],
                                        cwd=place.name, stderr=subprocess.PIPE, text=True, **more)
        self.log = ''
        self.read_until('Iteration 20')

    def read_until(self, text):
        for line in self.process.stderr:
            self.log += line
            if text in line: return
        raise AssertionError('no "%s" in:\n%s' % (text, self.log[-2000:]))

    def send(self, *signals):
        for s in signals: self.process.send_signal(s)

    def end(self, limit=10):
        started = time.monotonic()
        self.log += self.process.communicate(timeout=limit)[1]
        return self.process.returncode, time.monotonic() - started


def snapshots(place): return sorted(n for n in os.listdir(place.name) if n.endswith('.solverstate'))

def check_stops(place):
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 138)):
        place.clear()
        run = Run(place)
        run.send(number)
        returned, _ = run.end()
        assert returned == code, (returned, run.log[-2000:])
        assert 'Optimization stopped early.' in run.log
        assert '] to resume: cortado train --solver=solver.prototxt --threads=1 --snapshot=snap_iter_' in run.log
        state, = snapshots(place)
        assert os.path.exists(place.path(state.replace('solverstate', 'caffemodel')))
        resumed = Run(place, '--snapshot=auto')
        assert 'Restoring previous solver status from ' + state in resumed.log
        resumed.send(signal.SIGINT)
        resumed.end()

def check_snapshot_and_go_on(place):
    for flags, number in (((), signal.SIGHUP), (('--sigint_effect=snapshot',), signal.SIGINT)):
        place.clear()
        run = Run(place, *flags)
        run.send(number)
        run.read_until('Snapshotting solver state')
        run.read_until(', lr = ')
        run.send(signal.SIGTERM)
        assert run.end()[0] == 143
        assert len(snapshots(place)) == 2, snapshots(place)

def check_any_moment(place):
    """Wherever the program is just then, also where a library uses the stack's register for something else."""
    place.clear()
    run = Run(place, '--sighup_effect=none')
    for _ in range(3000):
        run.send(signal.SIGHUP)
        time.sleep(0.0003)
    run.send(signal.SIGTERM)
    assert run.end()[0] == 143, run.log[-2000:]

def check_nothing(place):
    place.clear()
    run = Run(place, '-sigint_effect', 'none', '-sighup_effect', 'none')
    run.send(signal.SIGINT, signal.SIGHUP)
    run.read_until(', lr = ')
    run.read_until(', lr = ')
    assert not snapshots(place)
    run.send(signal.SIGTERM)
    assert run.end()[0] == 143

def check_hangup_stops(place):
    place.clear()
    run = Run(place, '--sighup_effect=stop')
    run.send(signal.SIGHUP)
    assert run.end()[0] == 129
    assert len(snapshots(place)) == 1

def check_twice(place):
    """The second one does not wait, whatever the first has begun."""
    run = Run(place)
    run.send(signal.SIGINT)
    time.sleep(0.002)
    run.send(signal.SIGINT)
    returned, seconds = run.end()
    assert returned == 130 and seconds < 2, (returned, seconds)

def check_ignored(place):
    """What whoever started it had it ignore (nohup, a script's background jobs) stays ignored."""
    place.clear()
    ignore = lambda: [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGHUP)]
    run = Run(place, preexec_fn=ignore)
    run.send(signal.SIGINT, signal.SIGHUP)
    run.read_until(', lr = ')
    run.read_until(', lr = ')
    run.send(signal.SIGINT)
    run.read_until(', lr = ')
    assert not snapshots(place)
    run.send(signal.SIGTERM)
    assert run.end()[0] == 143

def check_no_reader(place):
    """A log that nobody reads any more must not end a training."""
    place.clear()
    run = Run(place)
    run.process.stderr.close()
    time.sleep(0.5)
    assert run.process.poll() is None
    run.send(signal.SIGINT)
    assert run.process.wait(10) == 130
    assert len(snapshots(place)) == 1

def check_second_trainer(place):
    """Two trainings must not write the same snapshots."""
    place.clear()
    run = Run(place)
    second = subprocess.run([place.exe, 'train', '--solver=solver.prototxt'], cwd=place.name, capture_output=True,
                            text=True, timeout=10)
    assert second.returncode == 5 and 'hint: ' in second.stderr, (second.returncode, second.stderr[-500:])
    run.send(signal.SIGINT)
    assert run.end()[0] == 130

def main():
    place = Workplace(sys.argv[1], iters=100000000, snapshot=0, test_interval=1000000)
    for check in (check_stops, check_snapshot_and_go_on, check_any_moment, check_nothing, check_hangup_stops,
                  check_twice, check_ignored, check_no_reader, check_second_trainer):
        check(place)
        print(check.__name__, 'ok')


main()
