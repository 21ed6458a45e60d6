"""caffe.Timer."""
import time


class Timer:
    """The time from start() to stop(). Reading it stops a running timer; a timer that never ran is 0."""

    def __init__(self):
        self._began, self._took = None, 0.0

    def start(self):
        if self._began is None:
            self._began = time.perf_counter()

    def stop(self):
        if self._began is not None:
            self._took, self._began = time.perf_counter() - self._began, None

    @property
    def seconds(self):
        self.stop()
        return self._took

    @property
    def ms(self):
        return self.seconds * 1e3

    @property
    def us(self):
        return self.seconds * 1e6
