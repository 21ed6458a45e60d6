"""caffe.io: arrays, images and messages."""
import numpy

import cortado

from .proto import caffe_pb2


# Messages

def blobproto_to_array(blob, return_diff=False):
    values = numpy.array(blob.diff if return_diff else blob.data, numpy.float32)
    if blob.HasField('num') or blob.HasField('channels') or blob.HasField('height') or blob.HasField('width'):
        return values.reshape(blob.num, blob.channels, blob.height, blob.width)
    return values.reshape(tuple(blob.shape.dim))


def array_to_blobproto(array, diff=None):
    blob = caffe_pb2.BlobProto()
    blob.shape.dim.extend(array.shape)
    blob.data.extend(numpy.asarray(array, float).ravel())
    if diff is not None:
        blob.diff.extend(numpy.asarray(diff, float).ravel())
    return blob


def arraylist_to_blobprotovector_str(arrays):
    vector = caffe_pb2.BlobProtoVector()
    vector.blobs.extend([array_to_blobproto(array) for array in arrays])
    return vector.SerializeToString()


def blobprotovector_str_to_arraylist(content):
    vector = caffe_pb2.BlobProtoVector.FromString(content)
    return [blobproto_to_array(blob) for blob in vector.blobs]


def array_to_datum(array, label=None):
    """Converts channels x height x width to a Datum: bytes if the array has bytes, else floats."""
    if array.ndim != 3:
        raise ValueError('a Datum has 3 axes, but the array has %d' % array.ndim)
    datum = caffe_pb2.Datum(channels=array.shape[0], height=array.shape[1], width=array.shape[2])
    if array.dtype == numpy.uint8:
        datum.data = array.tobytes()
    else:
        datum.float_data.extend(array.astype(float).ravel())
    if label is not None:
        datum.label = label
    return datum


def datum_to_array(datum):
    shape = (datum.channels, datum.height, datum.width)
    if datum.data:
        return numpy.frombuffer(datum.data, numpy.uint8).reshape(shape)
    return numpy.array(datum.float_data, float).reshape(shape)


# Images: height x width x channels, red, green, blue, from 0 to 1

def load_image(filename, color=True):
    pixels = cortado.load_image(filename, color)[:, :, ::-1]
    return pixels.astype(numpy.float32) / 255


def _mirrored(index, size, repeated):
    """Mirrors indices at the ends of an axis, whose outermost pixels are `repeated` (1) or not (0)."""
    period = max(2 * (size - 1 + repeated), 1)
    index = index % period
    return numpy.where(index < size, index, period - repeated - index)


_BEYOND = {  # the index that has the value of one beyond the axis, by mode as in skimage.transform.resize()
    'constant': lambda index, size: numpy.clip(index, 0, size - 1),
    'edge': lambda index, size: numpy.clip(index, 0, size - 1),
    'reflect': lambda index, size: _mirrored(index, size, 0),
    'symmetric': lambda index, size: _mirrored(index, size, 1),
    'wrap': lambda index, size: index % size}


def _resized_axis(array, axis, count, order, mode, cval):
    """Samples an axis at `count` positions: the centers of pixels of equal size."""
    size = array.shape[axis]
    at = (numpy.arange(count) + 0.5) * (size / count) - 0.5

    def values(index):
        found = array.take(_BEYOND[mode](index, size), axis)
        beyond = (index < 0) | (index >= size)
        if mode == 'constant' and beyond.any():
            numpy.moveaxis(found, axis, 0)[beyond] = cval
        return found

    if order == 0:
        return values(numpy.ceil(at - 0.5).astype(int))
    low = numpy.floor(at).astype(int)
    part = (at - low).astype(array.dtype).reshape((count,) + (1,) * (array.ndim - axis - 1))
    return values(low) * (1 - part) + values(low + 1) * part


def _resized(array, extents, order, mode='edge', cval=0):
    if order not in (0, 1):
        raise NotImplementedError('images are resized with order 0 or 1; use scipy.ndimage.zoom() for others')
    if mode not in _BEYOND:
        raise ValueError("mode is '%s', but must be one of %s" % (mode, ', '.join(_BEYOND)))
    for axis, extent in enumerate(extents):
        if array.shape[axis] != extent:
            array = _resized_axis(array, axis, int(extent), order, mode, cval)
    return array


def resize_image(im, new_dims, interp_order=1):
    """Resizes to (height, width): order 0 is nearest, 1 is bilinear."""
    return _resized(numpy.array(im, numpy.float32), new_dims[:2], interp_order)


def resize(image, output_shape, order=1, mode='reflect', cval=0, clip=True, preserve_range=False, anti_aliasing=False):
    """As skimage.transform.resize() of Caffe's time, which scripts find here: pixels of integers become fractions of
    their type's largest value, unless `preserve_range`; values are floats, and are not blurred before. `output_shape`
    may leave out the last axes."""
    if anti_aliasing:
        raise NotImplementedError('resize() does not blur images; use skimage.transform.resize()')
    image = numpy.asarray(image)
    kind = image.dtype
    image = image.astype(kind if kind in (numpy.float32, numpy.float64) else numpy.float64)
    if numpy.issubdtype(kind, numpy.integer) and not preserve_range:
        image /= numpy.iinfo(kind).max
    image = image.reshape(image.shape + (1,) * (len(output_shape) - image.ndim))
    return _resized(image, output_shape, order, mode, cval)


def oversample(images, crop_dims):
    """10 crops of each image: the four corners and the center, and these mirrored."""
    height, width = int(crop_dims[0]), int(crop_dims[1])
    crops = []
    for image in images:
        bottom, right = image.shape[0] - height, image.shape[1] - width
        places = [(0, 0), (0, right), (bottom, 0), (bottom, right), (bottom // 2, right // 2)]
        cut = [image[top:top + height, left:left + width] for top, left in places]
        crops += cut + [crop[:, ::-1] for crop in cut]
    return numpy.array(crops, numpy.float32)


class Transformer:
    """Converts images to a net's input, and back. `inputs` has the shapes of the net's blobs by name.

    preprocess() resizes, then does the steps that were set: transpose, swap channels, raw scale, subtract mean, scale.
    """

    def __init__(self, inputs):
        self.inputs = inputs
        self.transpose, self.channel_swap, self.raw_scale, self.mean, self.input_scale = {}, {}, {}, {}, {}

    def _check(self, name):
        if name not in self.inputs:
            raise Exception("'%s' is not an input of the transformer, which has %s" % (name, sorted(self.inputs)))

    def preprocess(self, in_, data):
        """Converts height x width x channels to the blob's form."""
        self._check(in_)
        out = numpy.asarray(data, numpy.float32)
        size = tuple(self.inputs[in_][2:])
        if out.shape[:2] != size:
            out = resize_image(out, size)
        if in_ in self.transpose:
            out = out.transpose(self.transpose[in_])
        if in_ in self.channel_swap:
            out = out[self.channel_swap[in_], :, :]
        if in_ in self.raw_scale:
            out = out * numpy.float32(self.raw_scale[in_])
        if in_ in self.mean:
            out = out - self.mean[in_]
        if in_ in self.input_scale:
            out = out * numpy.float32(self.input_scale[in_])
        return out

    def deprocess(self, in_, data):
        """The inverse, except for resizing."""
        self._check(in_)
        out = numpy.array(data, numpy.float32)
        if out.ndim > len(self.transpose.get(in_, ())):
            out = out.squeeze(0) if in_ in self.transpose else out.squeeze()
        if in_ in self.input_scale:
            out = out / self.input_scale[in_]
        if in_ in self.mean:
            out = out + self.mean[in_]
        if in_ in self.raw_scale:
            out = out / self.raw_scale[in_]
        if in_ in self.channel_swap:
            out = out[numpy.argsort(self.channel_swap[in_]), :, :]
        if in_ in self.transpose:
            out = out.transpose(numpy.argsort(self.transpose[in_]))
        return out

    def set_transpose(self, in_, order):
        """(2, 0, 1) puts channels first."""
        self._check(in_)
        if len(order) != len(self.inputs[in_]) - 1:
            raise Exception('the order has %d axes, but an image of the input has %d' %
                            (len(order), len(self.inputs[in_]) - 1))
        self.transpose[in_] = order

    def set_channel_swap(self, in_, order):
        """(2, 1, 0) converts RGB to BGR."""
        self._check(in_)
        if len(order) != self.inputs[in_][1]:
            raise Exception('the order has %d channels, but the input has %d' % (len(order), self.inputs[in_][1]))
        self.channel_swap[in_] = list(order)

    def set_raw_scale(self, in_, scale):
        """A scale before the mean is subtracted: 255 for nets trained on bytes."""
        self._check(in_)
        self.raw_scale[in_] = scale

    def set_input_scale(self, in_, scale):
        """A scale after the mean is subtracted."""
        self._check(in_)
        self.input_scale[in_] = scale

    def set_mean(self, in_, mean):
        """One value per channel, or an image of the net's input size."""
        self._check(in_)
        mean = numpy.asarray(mean, numpy.float32)
        if mean.ndim == 1:
            if len(mean) not in (1, self.inputs[in_][1]):
                raise ValueError('%d means for %d channels' % (len(mean), self.inputs[in_][1]))
            mean = mean[:, None, None]
        else:
            if mean.ndim == 2:
                mean = mean[None]
            if mean.shape != tuple(self.inputs[in_][1:]):
                mean = resize_image(mean.transpose(1, 2, 0), tuple(self.inputs[in_][2:])).transpose(2, 0, 1)
        self.mean[in_] = mean
