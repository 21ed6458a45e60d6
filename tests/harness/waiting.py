"""Waits for a condition, with a deadline; and limits of time that a busy machine does not break."""
import time


def wait_until(condition, what, seconds=30, every=0.05):
    """Returns the result of `condition` as soon as it is true, asked each `every` seconds. Fails after `seconds`,
    naming `what`."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, 'timeout of %s s: %s' % (seconds, what)
        time.sleep(every)
    return result


def is_within(seconds, limit):
    """Whether that took less than `limit` seconds of an idle machine. Only a longer time costs a measurement of the
    machine: wall time over CPU time of a short computation."""
    if seconds < limit: return True
    wall, cpu = time.monotonic(), time.process_time()
    while time.process_time() - cpu < 0.05: pass
    return seconds < limit * (time.monotonic() - wall) / (time.process_time() - cpu)
