"""The machine of a measurement, and its load."""
import os
import platform
import subprocess
import time

import levels
import nets


def git_hash():
    run = subprocess.run(['git', 'describe', '--always', '--dirty', '--abbrev=12'], cwd=nets.ROOT, capture_output=True,
                         text=True)
    return run.stdout.strip()


def cpu_model():
    out = subprocess.run(['lscpu'], capture_output=True, text=True, env=dict(os.environ, LC_ALL='C')).stdout
    found = dict(line.split(':', 1) for line in out.splitlines() if ':' in line)
    return ', '.join(found[key].strip() for key in ('Model name', 'CPU family', 'Model', 'Stepping') if key in found)


def ticks():
    """(stolen, total) ticks of all CPUs since boot."""
    with open('/proc/stat') as file:
        values = [int(word) for word in file.readline().split()[1:9]]
    return values[7], sum(values)


def steal_since(before):
    stolen, everything = ticks()
    return (stolen - before[0]) / max(1, everything - before[1])


def load():
    return os.getloadavg()[0]


def description(options):
    return {'git': git_hash(), 'cpu': cpu_model(), 'system': platform.platform(), 'threads': options.threads,
            'cpu_level': options.cpu_level or levels.own(), 'held': options.held,
            'when': time.strftime('%Y-%m-%d %H:%M:%S'), 'load': load()}
