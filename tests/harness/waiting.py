"""Waiting for a condition, with a deadline."""
import time


def wait_until(condition, what, seconds=30):
    """Returns what `condition` returns as soon as that is true; fails, naming `what`, where it is not in time."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, 'not within %s s: %s' % (seconds, what)
        time.sleep(0.05)
    return result
