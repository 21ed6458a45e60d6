"""Random weights."""
import pytest

pytest.importorskip('onnx.checker')  # the repository also has a folder onnx
import numpy
import onnx


def draw_weights(summary, path, seed=1):
    """Writes random weights for every layer of a summary to an .npz, scaled so that values neither explode nor vanish.
    Returns [path], or [] if no layer has weights."""
    draw, arrays = numpy.random.RandomState(seed), {}
    types = {layer['name']: layer['type'] for layer in summary['layers']}
    for layer, shapes in summary['params'].items():
        drawn = dense_block if types.get(layer) == 'DenseBlock' else blobs
        for i, values in enumerate(drawn(draw, shapes)):
            arrays['%s/%d' % (layer, i)] = values.astype('f4')
    numpy.savez(path, **arrays)
    return [path] if arrays else []


def blobs(draw, shapes):
    """Random blobs of one layer. BatchNorm's are sums of means and variances, and the factor to divide them by. For
    other layers the first is a matrix, filters or scales, the others are biases."""
    if len(shapes) >= 3 and shapes[2] == [1] and shapes[0] == shapes[1]:
        yield 2 * draw.normal(0, 0.1, shapes[0])
        yield 2 * draw.uniform(0.5, 1.5, shapes[1])
        yield numpy.array([2.0])
        shapes = shapes[3:]
    if len(shapes) == 4 and all(len(shape) == 4 and shape == [1, shape[1], 1, 1] for shape in shapes):
        for low, high in ((0.8, 1.2), (-0.1, 0.1), (-0.2, 0.2), (0.5, 1.5)):  # BN's: scales, biases, means, variances
            yield draw.uniform(low, high, shapes[0])
        return
    for i, shape in enumerate(shapes):
        if len(shape) >= 2:
            yield draw.normal(0, (2 / numpy.prod(shape[1:])) ** 0.5, shape)
        else:
            yield draw.uniform(0.8, 1.2, shape) if i == 0 else draw.normal(0, 0.1, shape)


def dense_block(draw, shapes):
    """Random blobs of a DenseBlock: those of one kind for all steps, then those of the next, and at the end the factor
    to divide means and variances by."""
    steps = next(i for i, shape in enumerate(shapes) if shape == [1, shape[1], 1, 1])
    for i, shape in enumerate(shapes[:-1]):
        if i // steps % 5 == 0:
            yield draw.normal(0, (2 / numpy.prod(shape[1:])) ** 0.5, shape)
        else:
            yield draw.uniform(*((0.8, 1.2), (-0.1, 0.1), (-0.2, 0.2), (0.5, 1.5))[i // steps % 5 - 1], shape)
    yield numpy.array([1.0])


def far(a, b):
    """The largest difference, relative to the largest value of b."""
    assert a.shape == b.shape, (a.shape, b.shape)
    assert numpy.isfinite(a).all() and numpy.isfinite(b).all()
    return float(abs(a - b).max() / max(1e-30, abs(b).max()))
