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


def _sampled(size, count):
    """For each of `count` pixel centers along an axis of `size`: the two pixels around it, and the second weight."""
    at = numpy.clip((numpy.arange(count) + 0.5) * (size / count) - 0.5, 0, size - 1)
    low = numpy.floor(at).astype(int)
    return low, numpy.minimum(low + 1, size - 1), (at - low).astype(numpy.float32)


def resize_image(im, new_dims, interp_order=1):
    """Resizes to (height, width): order 0 is nearest, 1 is bilinear."""
    if interp_order not in (0, 1):
        raise NotImplementedError('resize_image() supports orders 0 and 1; use scipy.ndimage.zoom() for others')
    im = numpy.asarray(im, numpy.float32)
    rows, columns = (_sampled(size, wanted) for size, wanted in zip(im.shape, new_dims))
    if interp_order == 0:
        rows, columns = (numpy.where(part < 0.5, low, high) for low, high, part in (rows, columns))
        return im[rows][:, columns]
    part = rows[2][:, None, None]
    im = im[rows[0]] * (1 - part) + im[rows[1]] * part
    part = columns[2][None, :, None]
    return im[:, columns[0]] * (1 - part) + im[:, columns[1]] * part


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
        out = numpy.array(data, numpy.float32).squeeze()
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
