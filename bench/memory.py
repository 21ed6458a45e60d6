"""Mode `memory`: the peak resident memory (VmHWM) of a process that trains three steps."""
import subprocess

import nets
import train
from worker import Worker, WorkerEnded

BATCHES = {'resnet50': 32, 'vgg16': 8}
STEPS = 3
BASELINE = 'import torch; print([l.split()[1] for l in open("/proc/self/status") if l.startswith("VmHWM")][0])'


def peak(options, command):
    """(peak MB, ms of the last step, name)"""
    with Worker('', command, options.threads) as worker:
        worker.greet().step(STEPS - 1)
        seconds, _ = worker.step(1)
        return worker.ask('memory')[0], 1e3 * seconds, worker.name


def baseline(options):
    run = subprocess.run([options.python, '-c', BASELINE], capture_output=True, text=True)
    return float(run.stdout) / 1024 if run.returncode == 0 else 0


def measure(options, folder, name, tell):
    batch = BATCHES.get(name, nets.training_batch(name))
    ours, peer, init = train.commands(options, folder, name, batch)
    # A separate process writes the initial weights, because writing them needs a copy in memory.
    with Worker('', ours(init), options.threads) as writer:
        writer.greet()
    ours_mb, ours_ms, _ = peak(options, ours('-'))
    peers = {}
    for setting in train.EAGER:
        try:
            peers[setting] = peak(options, peer(setting))
        except WorkerEnded as reason:
            tell('%s: skipped: %s' % (setting, reason))
    if not peers:
        return None
    best = min(peers, key=lambda setting: peers[setting][1])
    return [{'mode': 'memory', 'net': name, 'batch': batch, 'ours_mb': ours_mb, 'ours_ms': ours_ms,
             'peer': peers[best][2], 'setting': best, 'peer_mb': peers[best][0],
             'peers_mb': {s: peers[s][0] for s in peers}, 'peers_ms': {s: peers[s][1] for s in peers},
             'share': ours_mb / peers[best][0], 'import_mb': baseline(options)}]
