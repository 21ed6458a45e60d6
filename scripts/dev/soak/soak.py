"""See scripts/dev/soak.sh. Samples resident memory, descriptors and threads of three programs from /proc. Prints for
each program the slope of its memory after the warm-up, by least squares, with its noise floor, and its descriptors and
threads after the warm-up and at the end. Exits with 1 if memory grows by more than 1 MiB an hour (in less than an hour,
by more than 1 MiB), descriptors or threads grow, a program ends early, or a response is wrong."""
import argparse
import atexit
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.append(ROOT + '/tests/cli')
import fixtures
from clients import Clients
from slope import slope_and_floor
from workplace import NET, Workplace

EVERY, MOST_MIB_AN_HOUR, MOST_MORE = 3, 1.0, 16  # seconds; slope; descriptors and threads
SHAPE = [1, 1, 20, 20]
DEPLOYED = ('name: "soaked"\nlayer { name: "data" type: "Input" top: "data" input_param { shape { %s } } }\n' %
            ' '.join('dim: %d' % extent for extent in SHAPE) +
            re.sub(r'layer \{ name: "(accuracy|loss)".*\n', '', NET[NET.index('layer { name: "conv"'):]))
WARM = 150  # seconds until the heap of the training has its size
BAD = [5, 77, 133, 290]
SKIPPED = 10 * len(BAD)  # more records may be on a damaged page, whose checksum fails


class Watched:
    """A program and its samples."""

    def __init__(self, name, place, *command):
        self.name, self.samples = name, []
        self.log = open(place.path(name.replace(' ', '_') + '.log'), 'w+')
        self.process = subprocess.Popen([place.exe, *command], cwd=place.name, stdout=self.log, stderr=self.log)
        self.begun = time.monotonic()
        atexit.register(self.process.kill)  # if this script fails

    def sample(self):
        folder = '/proc/%d/' % self.process.pid
        status = dict(line.split(':', 1) for line in open(folder + 'status').read().splitlines())
        self.samples.append((time.monotonic() - self.begun, int(status['VmRSS'].split()[0]) / 1024,
                             len(os.listdir(folder + 'fd')), int(status['Threads'])))

    def stop(self):
        """Ends the program by SIGTERM. Returns what is wrong: an early end or another exit code."""
        early = self.process.poll()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120) if early is None else early
        return [] if early is None and code in (0, 143, -signal.SIGTERM) else ['ended with %d' % code]

    def verdict(self):
        """A line to print, and a list of faults."""
        if len(self.samples) < 3: return self.name + ': no samples', []
        whole = self.samples[-1][0]
        warm = max(0.1 * whole, min(300, max(WARM, whole / 3), whole / 2))
        points = [sample for sample in self.samples if sample[0] >= warm]
        slope, floor = (3600 * each for each in slope_and_floor([(time, mib) for time, mib, _, _ in points]))
        first, last, wrong = points[0], points[-1], []
        hours = min(1, (points[-1][0] - points[0][0]) / 3600)
        if slope > max(MOST_MIB_AN_HOUR / hours, floor): wrong.append('memory grows')
        for kind, column in (('descriptors', 2), ('threads', 3)):
            if last[column] > first[column] + MOST_MORE: wrong.append(kind + ' grow')
        line = '%s: %.1f MiB, %+.2f MiB/h (noise floor %.2f), descriptors %d to %d, threads %d to %d' % (
            self.name, last[1], slope, floor, first[2], last[2], first[3], last[3])
        if floor > MOST_MIB_AN_HOUR: line += '; too short to measure %.1f MiB/h' % MOST_MIB_AN_HOUR
        return line, wrong

    def port(self):
        for _ in range(600):
            found = re.search(r'HTTP on http://\S*:(\d+)$', open(self.log.name).read(), re.M)
            if found: return int(found[1])
            time.sleep(0.1)
        raise SystemExit('soak.py: the server printed no port: ' + open(self.log.name).read())


def prepare(place):
    """Writes a trained net to serve, a net that reads a dataset with bad records, and a solver without an end."""
    place.solver(iters=50)
    subprocess.run([place.exe, 'train', '--solver=solver.prototxt'], cwd=place.name, check=True, capture_output=True)
    place.write('deploy.prototxt', DEPLOYED)
    os.rename(place.path('snap_iter_50.caffemodel'), place.path('served.caffemodel'))
    place.clear()
    os.chdir(place.name)
    fixtures.lmdb('bad_lmdb', n=300, h=24, w=24)
    records, whole = fixtures.read_lmdb('bad_lmdb'), open('bad_lmdb/data.mdb', 'rb').read()
    for number in BAD:
        fixtures.overwrite('bad_lmdb/data.mdb', whole.index(records[number][1]), b'\x7f\x7f\x7f\x7f')
    place.write('bad.prototxt', NET.replace('train_lmdb', 'bad_lmdb'))
    place.solver(iters=1000000000, display=1000, test_interval=1000, snapshot=500)
    place.write('solver.prototxt', open(place.path('solver.prototxt')).read() + 'keep_last: 3\n')


def start(place, seconds):
    return [Watched('training', place, 'train', '--solver=solver.prototxt', '--run=run', '--threads=1'),
            Watched('bad records', place, 'data', 'bench', 'bad.prototxt', '--skip-bad=%d' % SKIPPED, '--threads=1',
                    '--data-threads=2', '--seconds=%d' % (2 * seconds)),
            Watched('server', place, 'serve', '--model=deploy.prototxt', '--weights=served.caffemodel', '--name=soaked',
                    '--port=0', '--grpc-port=-1', '--threads=1', '--max-batch=8', '--like=none')]


def report(programs, clients):
    wrong = []
    for program in programs:
        line, faults = program.verdict()
        faults += program.stop()
        print(line + ''.join('; ' + fault.upper() for fault in faults))
        wrong += faults
    print('server: %d good requests, %d hostile ones, %d wrong answers' % (clients.good, clients.hostile,
                                                                          len(clients.wrong)))
    for answer in clients.wrong[:5]: print('  ', *answer)
    return wrong + clients.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--minutes', type=float, default=60)
    parser.add_argument('--bin', default=ROOT + '/build/bin')
    options = parser.parse_args()
    place = Workplace(options.bin + '/cortado')
    prepare(place)
    programs = start(place, 60 * options.minutes)
    clients = Clients(programs[-1].port(), SHAPE)
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end and all(program.process.poll() is None for program in programs):
        for program in programs: program.sample()
        time.sleep(EVERY)
    clients.stop()
    wrong = report(programs, clients)
    for program in programs:
        if program.process.returncode not in (0, 143, -signal.SIGTERM): print(open(program.log.name).read()[-2000:])
    sys.exit(1 if wrong else 0)


main()
