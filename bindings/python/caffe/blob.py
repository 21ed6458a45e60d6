"""Arrays over blobs. A net's memory has layouts of its own, so an array is lent: it has the values, may be changed, and
what was changed goes back before the net runs again. One that somebody still holds then stays the blob's, with new
values after the run. A weight that several layers or nets share is lent as one array, whichever of them is asked.
"""
import sys

import numpy


def _same_bits(one, other):
    return numpy.array_equal(one.view(numpy.uint32), other.view(numpy.uint32))


class Lent:
    """One array over something that can be read and written."""

    def __init__(self, read, write):
        self._read, self._write = read, write
        self._array = self._seen = None  # the latter is what the net has, unless it has another shape

    def get(self):
        if self._array is None:
            self._array = self._read()
            self._seen = self._array.copy()
        return self._array

    def give_back(self, always=False):
        """Before the net runs: what was changed counts. Nobody keeps an array that nobody holds."""
        if self._array is None:
            return
        if always or self._seen is None or not _same_bits(self._array, self._seen):
            self._write(self._array)
            self._seen = self._array.copy()
        if sys.getrefcount(self._array) == 2:  # this object's, and the call's
            self._array = self._seen = None

    def refresh(self):
        """After the net ran."""
        if self._array is None:
            return
        values = self._read()
        if values.shape != self._array.shape:  # fewer rows, or more
            return self.replace(None)
        self._array[...] = self._seen = values

    def replace(self, array):
        """Another shape: what was lent until now is the holder's alone."""
        self._array, self._seen = array, None


class Blob:
    """`data` and `diff` are arrays that are lent; changes of them are the net's."""

    def __init__(self, data, diff, shape, reshape=None):
        self._lent = (data, diff)
        self._shape_of, self._reshape = shape, reshape

    def share_data(self, data):
        """From now on its values are what `data` lends."""
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
        """An input's shape, from the next pass (or Net.reshape()) on; `data` has it at once, with zeros."""
        if self._reshape is None:
            raise ValueError('the shape of a weight is that of its layer')
        extents = tuple(int(extent) for extent in extents)
        if extents == tuple(self.shape):
            return
        self._reshape(extents)
        for lent in self._lent:
            lent.replace(numpy.zeros(extents, numpy.float32))

    def let_go(self):
        """Its shape is about to follow from another one: what was lent is the holder's alone, and of no use here."""
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
