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


class Blob:
    """`data` and `diff` are arrays; changes of them are written to the net."""

    def __init__(self, data, diff, shape, reshape=None):
        self._lent = (data, diff)
        self._shape_of, self._reshape = shape, reshape

    def share_data(self, data):
        """Shares the array `data`."""
        self._lent = (data, self._lent[1])

    @property
    def data(self):
        return self._lent[0].get()

    @data.setter
    def data(self, values):
        self.data[...] = values

    @property
    def diff(self):
        return self._lent[1].get()

    @diff.setter
    def diff(self, values):
        self.diff[...] = values

    @property
    def shape(self):
        return self._shape_of()

    def reshape(self, *extents):
        """Sets an input's shape for the next pass (or Net.reshape()); `data` has it at once, filled with zeros."""
        if self._reshape is None:
            raise ValueError('the shape of a weight is fixed by its layer')
        extents = tuple(int(extent) for extent in extents)
        if extents == tuple(self.shape):
            return
        self._reshape(extents)
        for lent in self._lent:
            lent.replace(numpy.zeros(extents, numpy.float32))

    def let_go(self):
        """Detaches the arrays, because the shape is about to change."""
        for lent in self._lent:
            lent.replace(None)

    @property
    def count(self):
        return int(numpy.prod(self.shape, dtype=numpy.int64))

    def _extent(self, axis):
        return self.shape[axis] if axis < len(self.shape) else 1

    num = property(lambda self: self._extent(0))
    channels = property(lambda self: self._extent(1))
    height = property(lambda self: self._extent(2))
    width = property(lambda self: self._extent(3))

    def lent(self):
        return self._lent
