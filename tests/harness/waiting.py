"""Waits for a condition, with a deadline."""
import time


def wait_until(condition, what, seconds=30, every=0.05):
    """Returns the result of `condition` as soon as it is true, asked each `every` seconds. Fails after `seconds`,
    naming `what`."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, 'timeout of %s s: %s' % (seconds, what)
        time.sleep(every)
    return result
