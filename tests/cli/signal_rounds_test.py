"""Sends SIGINT, SIGTERM, SIGHUP and SIGUSR1, some twice, at random times to random trainings (drawn_training.py).

Checks the exit code, the time until the end, that snapshots are complete, that no process remains, and that the
training resumes to the same bits. A round is a function of the seed and its number: --seed=N --first=R --rounds=1
repeats round R.
"""
import random, signal, subprocess, time

from tests.cli.drawn_training import draw_ranks, draw_training, end_of, remaining, text_of
from tests.harness.waiting import is_within

ROUNDS = 8
INT, TERM, HUP, USR1 = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1
SENT = [(INT,), (TERM,), (HUP,), (USR1,), (INT, INT), (TERM, TERM), (INT, TERM), (HUP, INT), (USR1, USR1)]
STOPPING, UNTRAINED = 'stopping after this iteration', 'nothing was trained'
SAVING = 'the snapshot is being written'
ONCE, TWICE = 10, 1  # seconds that the end may take on an idle machine, after one request to stop and after two


class Watched:
    """A training that receives the signals `sent` after `moment` seconds, and its end."""

    def __init__(self, place, drawn, ranks, sent, moment, between):
        self.sent = sent
        self.process = place.start(drawn, ranks)
        time.sleep(moment)
        for i, number in enumerate(sent):
            if i: time.sleep(between)
            self.process.send_signal(number)
        begun = time.monotonic()
        self.log = end_of(self.process)
        self.seconds = time.monotonic() - begun
        self.left = remaining(self.process.pid)
        self.code = self.process.returncode

    def stops(self):
        """The signals that request a stop; SIGHUP requests a snapshot."""
        return [number for number in self.sent if number != HUP]

    def finished(self): return 'Optimization Done' in self.log

    def wrong_code(self):
        """Before the handlers are installed, a signal has its default effect."""
        allowed = {128 + number for number in self.stops()}
        if 'Solving' not in self.log: allowed |= {-number for number in self.sent} | {128 + n for n in self.sent}
        if self.finished() or not self.stops(): allowed.add(0)
        if self.code not in allowed: return 'exit %d, not one of %s' % (self.code, sorted(allowed))
        return ''

    def took_long(self):
        """Two pending signals of a kind count as one."""
        twice = len(self.stops()) > 1 and 'Optimization stopped early' not in self.log and SAVING not in self.log
        limit = TWICE if twice else ONCE if self.stops() else None
        if limit and self.code != 0 and not is_within(self.seconds, limit): return 'took %.1f s to end' % self.seconds
        return ''

    def lacks_snapshot(self, place):
        """A training that logs a stop with a snapshot writes one, unless a second signal follows before it is being
        written, or it had not begun."""
        heeded = len(self.stops()) - (SAVING in self.log)
        if STOPPING not in self.log or heeded > 1 or UNTRAINED in self.log or place.snapshots(): return ''
        return 'no snapshot'

    def faults(self, place):
        found = [self.wrong_code(), self.took_long(), self.lacks_snapshot(place), damaged(place)]
        if self.left: found.append('still running: %s' % self.left)
        return [fault for fault in found if fault]


def damaged(place):
    if not place.snapshots(): return ''
    done = subprocess.run([place.exe, 'snapshot', 'verify', place.name], capture_output=True, text=True)
    return '' if done.returncode == 0 else done.stdout + done.stderr


def test_training_ends_as_it_should_and_resumes(drawn_place, seed, number):
    draw = random.Random('%d/%d' % (seed, number))
    drawn, sent = draw_training(draw), draw.choice(SENT)
    first, second = draw_ranks(draw, drawn), draw_ranks(draw, drawn)
    print('%s to %s, by %d ranks' % ('+'.join(s.name for s in sent), text_of(drawn), first))
    longest = drawn_place.uninterrupted(drawn).seconds
    drawn_place.begin(drawn)
    moment = draw.uniform(0, max(longest, 0.3))
    run = Watched(drawn_place, drawn, first, sent, moment, draw.choice([0, 0.001, 0.01, 0.1]))
    faults = run.faults(drawn_place)
    differs, begins = drawn_place.resume(drawn, second)
    if differs: faults.append(differs)
    print('after %.3f s: exit %d in %.3f s, resumed from %d' % (moment, run.code, run.seconds, begins))
    assert not faults, run.log[-2000:]
