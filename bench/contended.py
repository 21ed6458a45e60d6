"""Measures both sides with busy processes on the CPUs, in turns with a quiet machine."""
import signal
import subprocess
import sys

import pairing
import stats


class Spinners:
    """Busy processes, which can be paused."""

    def __init__(self, count):
        self.processes = [subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(count)]
        self.send(signal.SIGSTOP)

    def send(self, number):
        for process in self.processes:
            process.send_signal(number)

    def __enter__(self):
        self.send(signal.SIGCONT)

    def __exit__(self, *_):
        self.send(signal.SIGSTOP)

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


def measure(ours, peer, options):
    """The rates with busy processes relative to the quiet rates, and our speedup over the peer in both states. Medians
    of rounds in which each side runs a block in each state."""
    spinners = Spinners(options.contended)
    counts = {worker: pairing.count_for(worker, options.block) for worker in (ours, peer)}
    rounds = []
    try:
        for _ in range(options.rounds):
            quiet = [worker.step(counts[worker])[0] for worker in (ours, peer)]
            with spinners:
                busy = [worker.step(counts[worker])[0] for worker in (ours, peer)]
            rounds.append({'quiet': quiet, 'busy': busy})
    finally:
        spinners.close()
    kept = [stats.quartiles([r['quiet'][side] / r['busy'][side] for r in rounds]) for side in (0, 1)]
    ratios = {state: stats.quartiles([r[state][1] / r[state][0] for r in rounds]) for state in ('quiet', 'busy')}
    return {'processes': options.contended, 'kept': kept[0], 'peer_kept': kept[1], 'ratio_quiet': ratios['quiet'],
            'ratio_busy': ratios['busy'], 'rounds': rounds}
