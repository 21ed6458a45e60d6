"""The peers' end of the pipe: greets, then answers each request with one line, like our own workers."""
import sys
import time


def peak_resident_mb():
    with open('/proc/self/status') as status:
        for line in status:
            if line.startswith('VmHWM:'):
                return float(line.split()[1]) / 1024


def timed_runs(count, once):
    start = time.perf_counter()
    values = [once() for _ in range(count)]
    values = [float(value) for value in values]  # synchronizes with a device
    return [time.perf_counter() - start] + values


def timed(request):
    """A step that returns the seconds of one request."""
    def once():
        start = time.perf_counter()
        request()
        return time.perf_counter() - start
    return once


def serve(name, once, output=None, device_memory=None):
    """`once` runs a step and returns a number. `output`, for inference, returns the result of a request as an array."""
    print('ready', name, flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        if word == 'step':
            answer = timed_runs(int(rest[0]), once)
        elif word == 'memory':
            answer = [peak_resident_mb()]
        elif word == 'device-memory':
            answer = [device_memory()]
        elif word == 'output':
            output().tofile(rest[0])
            answer = [0]
        else:
            sys.exit('unknown request: ' + line)
        print(' '.join('%.9g' % value for value in answer), flush=True)
