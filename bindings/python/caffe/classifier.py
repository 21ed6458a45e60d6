"""caffe.Classifier: a net that classifies images."""
import numpy

from . import io
from .net import TEST, Net


class Classifier(Net):
    """`image_dims` is (height, width), to which images are resized before they are cropped; the rest is as in
    io.Transformer."""

    def __init__(self, model_file, pretrained_file, image_dims=None, mean=None, input_scale=None, raw_scale=None,
                 channel_swap=None):
        Net.__init__(self, model_file, pretrained_file, TEST)
        self.transformer = transformer_of(self, mean, input_scale, raw_scale, channel_swap)
        self.crop_dims = numpy.array(self.blobs[self.inputs[0]].data.shape[2:])
        self.image_dims = tuple(self.crop_dims if image_dims is None else image_dims)

    def predict(self, inputs, oversample=True):
        """Returns a row of scores for each image (height x width x channels, as from io.load_image()): the mean over
        ten crops, or the scores of the center crop."""
        images = numpy.array([io.resize_image(image, self.image_dims) for image in inputs], numpy.float32)
        if oversample:
            images = io.oversample(images, self.crop_dims)
        else:
            top, left = (numpy.array(self.image_dims) - self.crop_dims) // 2
            images = images[:, top:top + self.crop_dims[0], left:left + self.crop_dims[1]]
        batch = numpy.array([self.transformer.preprocess(self.inputs[0], image) for image in images])
        scores = self.forward_all(**{self.inputs[0]: batch})[self.outputs[0]]
        return scores.reshape(len(scores) // 10, 10, -1).mean(1) if oversample else scores


def transformer_of(net, mean, input_scale, raw_scale, channel_swap):
    """A Transformer with channels first; the other options are optional."""
    name = net.inputs[0]
    transformer = io.Transformer({name: net.blobs[name].data.shape})
    transformer.set_transpose(name, (2, 0, 1))
    if mean is not None:
        transformer.set_mean(name, mean)
    if input_scale is not None:
        transformer.set_input_scale(name, input_scale)
    if raw_scale is not None:
        transformer.set_raw_scale(name, raw_scale)
    if channel_swap is not None:
        transformer.set_channel_swap(name, channel_swap)
    return transformer
