"""Arrays over blobs. A net stores blobs in its own layouts, so an array is a copy of the values. Changes are written
back before the net runs again. If a script still holds the array, it is updated with the new values after the run. A
weight that several layers or nets share has one array.
"""
import sys

import numpy


def _same_bits(one, other):
    return numpy.array_equal(one.view(numpy.uint32), other.view(numpy.uint32))


class Lent:
    """An array over a blob that can be read and written."""

    def __init__(self, read, write):
        self._read, self._write = read, write
        self._array = self._seen = None  # _seen: the net's values, unless the shape changed

    def get(self):
        if self._array is None:
            self._array = self._read()
            self._seen = self._array.copy()
        return self._array

    def give_back(self, always=False):
        """Called before the net runs: writes changes back, and drops an array that no one else references."""
        if self._array is None:
            return
        if always or self._seen is None or not _same_bits(self._array, self._seen):
            self._write(self._array)
            self._seen = self._array.copy()
        if sys.getrefcount(self._array) == 2:  # references: this object and the call's argument
            self._array = self._seen = None

    def refresh(self):
        """Called after the net ran: updates the array."""
        if self._array is None:
            return
        values = self._read()
        if values.shape != self._array.shape:  # another number of rows
            return self.replace(None)
        self._array[...] = self._seen = values

    def replace(self, array):
        """Replaces the array after a change of shape; the old one is detached."""
        self._array, self._seen = array, None
