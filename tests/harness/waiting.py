"""Waits for a condition, with a deadline."""
import time


def wait_until(condition, what, seconds=30):
    """Returns the result of `condition` as soon as it is true; fails after `seconds`, naming `what`."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, 'timeout of %s s: %s' % (seconds, what)
        time.sleep(0.05)
    return result
