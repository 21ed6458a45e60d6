"""caffe.Detector: scores windows of images."""
import numpy

from . import io
from .classifier import transformer_of
from .net import TEST, Net


class Detector(Net):
    """`context_pad`: padding around a window, in pixels of the net's input. Outside of the image it is the mean."""

    def __init__(self, model_file, pretrained_file, mean=None, input_scale=None, raw_scale=None, channel_swap=None,
                 context_pad=None):
        Net.__init__(self, model_file, pretrained_file, TEST)
        self.transformer = transformer_of(self, mean, input_scale, raw_scale, channel_swap)
        self.configure_crop(context_pad)

    def configure_crop(self, context_pad):
        """Sets the padding around windows, and what is outside of an image: the mean, height x width x channels."""
        size = self.blobs[self.inputs[0]].data.shape[1:]
        self.context_pad, self.input_dims = context_pad or 0, numpy.array(size)[[1, 2, 0]]
        self.crop_mean = self.transformer.deprocess(self.inputs[0], numpy.zeros(size))

    def detect_windows(self, images_windows):
        """For pairs of a file and its windows (top, left, bottom, right), returns a list of dicts with `window`,
        `prediction` and `filename`."""
        found = []
        for filename, windows in images_windows:
            image = io.load_image(filename).astype(numpy.float32)
            found += [{'window': window, 'filename': filename, 'crop': self.crop(image, window)} for window in windows]
        if not found:
            return found
        batch = numpy.array([self.transformer.preprocess(self.inputs[0], each.pop('crop')) for each in found])
        scores = self.forward_all(**{self.inputs[0]: batch})[self.outputs[0]]
        for each, row in zip(found, scores):
            each['prediction'] = row.reshape(-1)
        return found

    def detect_selective_search(self, image_fnames):
        raise NotImplementedError('selective search is not supported; find windows otherwise and call detect_windows()')

    def crop(self, im, window):
        """The window with its context, resized to the net's input."""
        top, left, bottom, right = (int(round(float(edge))) for edge in window)
        if not self.context_pad:
            return im[top:bottom, left:right]
        size = self.blobs[self.inputs[0]].data.shape[2:]
        scale = [wanted / max(wanted - 2.0 * self.context_pad, 1) for wanted in size]
        middle = ((top + bottom) / 2.0, (left + right) / 2.0)
        half = ((bottom - top) * scale[0] / 2, (right - left) * scale[1] / 2)
        begin = [int(round(centre - extent)) for centre, extent in zip(middle, half)]
        end = [max(int(round(centre + extent)), first + 1) for centre, extent, first in zip(middle, half, begin)]
        out = numpy.empty((end[0] - begin[0], end[1] - begin[1]) + im.shape[2:], numpy.float32)
        out[...] = io.resize_image(self.crop_mean, out.shape[:2])
        inside = [(max(first, 0), min(last, extent)) for first, last, extent in zip(begin, end, im.shape)]
        (y0, y1), (x0, x1) = inside
        if y0 < y1 and x0 < x1:
            out[y0 - begin[0]:y1 - begin[0], x0 - begin[1]:x1 - begin[1]] = im[y0:y1, x0:x1]
        return out
