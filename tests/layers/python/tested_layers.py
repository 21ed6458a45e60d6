"""Layers that tests/layers/python_test.cc runs."""
import caffe
import numpy as np


class Mix(caffe.Layer):
    """y = w x0^2 + x1, w for each column."""

    def setup(self, bottom, top):
        if len(bottom) != 2:
            raise ValueError('Mix has two bottoms, not %d' % len(bottom))
        self.blobs.add_blob(bottom[0].shape[-1])
        self.blobs[0].data[...] = np.arange(bottom[0].shape[-1]) + 0.5

    def reshape(self, bottom, top):
        if bottom[0].shape != bottom[1].shape:
            raise ValueError('the shapes differ')
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = self.blobs[0].data * bottom[0].data ** 2 + bottom[1].data

    def backward(self, top, propagate_down, bottom):
        dy, x = top[0].diff, bottom[0].data
        if propagate_down[0]:
            bottom[0].diff[...] = 2 * self.blobs[0].data * x * dy
        if propagate_down[1]:
            bottom[1].diff[...] = dy
        self.blobs[0].diff[...] += (dy * x ** 2).sum(axis=tuple(range(x.ndim - 1)))


class FirstColumnOff:
    """In place; of no base class, and without setup(). The rest of the arrays stays what it is."""

    def reshape(self, bottom, top):
        assert bottom[0] is top[0]
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[:, 0] = 0

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[:, 0] = 0


class Ramp(caffe.Layer):
    """Five rows of four numbers from -4 to 15."""

    def reshape(self, bottom, top):
        top[0].reshape(5, 4)

    def forward(self, bottom, top):
        top[0].data[...] = np.arange(-4, 16).reshape(5, 4)


class FromY(caffe.Layer):
    """y = exp(x), whose backward reads y and not x."""

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        np.exp(bottom[0].data, out=top[0].data)

    def backward(self, top, propagate_down, bottom):
        np.multiply(top[0].data, top[0].diff, out=bottom[0].diff)


class Options(caffe.Layer):
    """y = phase, the length of param_str."""

    def setup(self, bottom, top):
        assert self.param_str == self.param_str_
        self.words = self.param_str

    def reshape(self, bottom, top):
        top[0].reshape(2)

    def forward(self, bottom, top):
        top[0].data[...] = self.phase, len(self.words)


class Blobs(caffe.Layer):
    """What Caffe's blobs can be asked for."""

    def setup(self, bottom, top):
        b = bottom[0]
        assert (b.num, b.channels, b.height, b.width, b.count) == (3, 4, 1, 1, 12)
        assert b.shape == (3, 4) and b.data.shape == b.diff.shape == (3, 4) and b.data.dtype == np.float32
        assert top[0].shape == () and len(top) == 1
        assert caffe.TRAIN == 0 and caffe.TEST == 1
        assert isinstance(caffe.Net, type)
        try:
            caffe.Nets
            raise AssertionError('caffe.Nets exists')
        except AttributeError as error:
            assert 'Nets' in str(error)

    def reshape(self, bottom, top):
        top[0].reshape(np.int64(2), 5)
        assert top[0].data.shape == (2, 5)

    def forward(self, bottom, top):
        assert top[0].data.sum() == 0, 'a top begins as zeros'
        top[0].data[0, 0] = bottom.pop().data.sum()


class Grows(caffe.Layer):
    """One column more with each forward."""

    columns = 2

    def reshape(self, bottom, top):
        top[0].reshape(3, self.columns)

    def forward(self, bottom, top):
        self.columns += 1


class Fewer(caffe.Layer):
    """The rows of x that are not negative at their beginning, found in forward(). At most as many as x has."""

    rows_vary = True

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        self.chosen = np.flatnonzero(bottom[0].data[:, 0] >= 0)
        top[0].reshape(len(self.chosen), *bottom[0].shape[1:])
        top[0].data[...] = bottom[0].data[self.chosen]

    def backward(self, top, propagate_down, bottom):
        if propagate_down[0]:
            bottom[0].diff[self.chosen] = top[0].diff


class Fails(caffe.Layer):
    """Where param_str says."""

    def setup(self, bottom, top):
        self.fail('setup')

    def reshape(self, bottom, top):
        self.fail('reshape')
        if self.param_str == 'bottom':
            bottom[0].reshape(7)
        if self.param_str == 'negative':
            top[0].reshape(2, -3)
        if self.param_str == 'huge':
            top[0].reshape(1 << 30, 1 << 30)
        if self.param_str == 'fraction':
            top[0].reshape(7 / 2)
        if self.param_str != 'shapeless':
            top[0].reshape(1, 1)

    def forward(self, bottom, top):
        self.fail('forward')

    def backward(self, top, propagate_down, bottom):
        self.fail('backward')

    def fail(self, where):
        if self.param_str == where:
            raise KeyError('asked for\nin ' + where)


class NeedsArguments:
    def __init__(self, one, two):
        pass


NotAClass = 7
