"""Waits for a condition, with a deadline; and how much slower the machine is now than alone."""
import time


def wait_until(condition, what, seconds=30, every=0.05):
    """Returns the result of `condition` as soon as it is true, asked each `every` seconds. Fails after `seconds`,
    naming `what`."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, 'timeout of %s s: %s' % (seconds, what)
        time.sleep(every)
    return result


def slowness():
    """Wall time over CPU time of a short computation: 1 on an idle machine, more next to busy processes. Factor of
    limits on the wall time."""
    wall, cpu = time.monotonic(), time.process_time()
    while time.process_time() - cpu < 0.05: pass
    return max(1, (time.monotonic() - wall) / (time.process_time() - cpu))
