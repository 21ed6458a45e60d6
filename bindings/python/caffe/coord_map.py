"""caffe.coord_map: maps coordinates between blobs of a NetSpec, and makes the Crop that aligns them.

A map is a triple (axis, a, b): the pixel x of one blob is at a * x + b of the other, along each axis after `axis`. `a`
and `b` are numbers if all these axes agree, else arrays with a value for each axis. `axis` is None for the identity. A
convolution or pooling with window extent k (including dilation), stride s and padding p maps x of its bottom to
(x + p - (k - 1) / 2) / s; a deconvolution is the inverse.
"""
from fractions import Fraction

import numpy

from .net_spec import layers as _layers

PASS_THROUGH_LAYERS = [
    'AbsVal', 'BN', 'BNLL', 'BatchNorm', 'Bias', 'Clip', 'Concat', 'Dropout', 'ELU', 'Eltwise', 'Exp', 'LRN', 'Log',
    'MVN', 'PReLU', 'Power', 'ReLU', 'Scale', 'Sigmoid', 'Softmax', 'Split', 'Swish', 'TanH', 'Threshold']


class UndefinedMapException(RuntimeError):
    """The coordinates of one blob do not map to the other."""


class AxisMismatchException(Exception):
    """Maps along different axes, which cannot be composed."""


class CropException(AxisMismatchException, AssertionError):
    """A blob that cannot be cropped to another."""


def _fractions(values):
    """Exact fractions, so that scales that cancel out are exactly 1."""
    return [each if isinstance(each, Fraction) else Fraction(float(each)) for each in numpy.atleast_1d(values)]


def _numbers(axis, a, b):
    """Converts a map for scripts."""
    count = max(len(a), len(b))
    a, b = ([float(each) for each in (values * count if len(values) == 1 else values)] for values in (a, b))
    if len(set(a)) == len(set(b)) == 1:
        return axis, numpy.float64(a[0]), numpy.float64(b[0])
    return axis, numpy.array(a), numpy.array(b)


def _per_axis(options, name, default):
    """The values of an option: NAME (one value, or one per axis), or NAME_h and NAME_w."""
    if name + '_h' in options or name + '_w' in options:
        return _fractions([options.get(name + '_h', default), options.get(name + '_w', default)])
    return _fractions(options.get(name, default))


def _options(function, *nested):
    options = dict(function.params)
    for name in nested:
        options.update(options.pop(name, {}))
    return options


def _aligned(*lists):
    """Extends lists with a single value to one value per axis."""
    count = max(len(each) for each in lists)
    if any(len(each) not in (1, count) for each in lists):
        raise AxisMismatchException('maps along different numbers of axes: %s' % sorted({len(each) for each in lists}))
    return zip(*(each * count if len(each) == 1 else each for each in lists))


def _window(function):
    """The first axis of a window, and per axis its stride, its extent with dilation, and its padding."""
    options = _options(function, 'convolution_param', 'pooling_param')
    size = 'kernel' if 'kernel_h' in options or 'kernel_w' in options else 'kernel_size'
    if size not in options and size == 'kernel_size':
        raise UndefinedMapException('a %s without kernel_size has no coordinate map' % function.type_name)
    kernel, dilation = zip(*_aligned(_per_axis(options, size, 1), _per_axis(options, 'dilation', 1)))
    extent = [(each - 1) * holes + 1 for each, holes in zip(kernel, dilation)]
    return options.get('axis', 1), _per_axis(options, 'stride', 1), extent, _per_axis(options, 'pad', 0)


def _window_map(function):
    axis, *window = _window(function)
    both = [(1 / stride, (pad - (extent - 1) / 2) / stride) for stride, extent, pad in _aligned(*window)]
    return axis, [scale for scale, _ in both], [offset for _, offset in both]


def _offsets(function):
    """The first axis of a Crop, and its offsets."""
    options = _options(function, 'crop_param')
    return options.get('axis', 2), _fractions(options.get('offset', 0))


def _integers(axis, *lists):
    """Converts parameters for scripts."""
    return (axis, *(numpy.array([int(each) for each in values]) for values in lists))


def conv_params(fn):
    """(axis, stride, extent, pad) of a Convolution, Deconvolution, Im2col or Pooling: arrays with one value, or one for
    each axis from `axis` on. The extent of the window includes dilation."""
    return _integers(*_window(fn))


def crop_params(fn):
    """(axis, offset) of a Crop."""
    return _integers(*_offsets(fn))


def _exact_map(function):
    kind = function.type_name
    if kind in ('Convolution', 'Pooling', 'Im2col'):
        return _window_map(function)
    if kind == 'Deconvolution':
        return _inverse(_window_map(function))
    if kind == 'Crop':
        axis, offsets = _offsets(function)
        return axis - 1, [Fraction(1)], [-each for each in offsets]
    if kind in PASS_THROUGH_LAYERS:
        return _nowhere()
    raise UndefinedMapException('a %s has no coordinate map' % kind)


def _nowhere():
    return None, [Fraction(1)], [Fraction(0)]


def _inverse(mapped):
    axis, a, b = mapped
    both = [(1 / scale, -offset / scale) for scale, offset in _aligned(a, b)]
    return axis, [scale for scale, _ in both], [offset for _, offset in both]


def _compose(outer, inner):
    (outer_axis, a, b), (inner_axis, c, d) = outer, inner
    if None not in (outer_axis, inner_axis) and outer_axis != inner_axis:
        raise AxisMismatchException('maps along axes after %d and after %d' % (outer_axis, inner_axis))
    both = [(p * r, p * s + q) for p, q, r, s in _aligned(a, b, c, d)]
    return (inner_axis if outer_axis is None else outer_axis, [scale for scale, _ in both],
            [offset for _, offset in both])


def _exactly(mapped):
    axis, a, b = mapped
    return axis, _fractions(a), _fractions(b)


def coord_map(function):
    """The map of a layer from its bottoms to its tops. Raises UndefinedMapException if it has none."""
    return _numbers(*_exact_map(function))


def compose(base_map, next_map):
    """The composition: `next_map`, then `base_map`. Raises AxisMismatchException if their axes differ."""
    return _numbers(*_compose(_exactly(base_map), _exactly(next_map)))


def inverse(coord_map):
    """The inverse map."""
    return _numbers(*_inverse(_exactly(coord_map)))


def _bottoms(top):
    """The bottoms that the top depends on through the layer's map."""
    function = top.fn
    if function.type_name == 'Crop':
        return function.inputs[:1]  # the other one only determines the extents
    if function.type_name not in PASS_THROUGH_LAYERS and function.ntop == len(function.inputs):
        return [function.inputs[top.n]]
    return function.inputs


def _maps_to(top):
    """Maps from each blob that `top` depends on, along the first of the shortest paths."""
    found, open_ = {top: _nowhere()}, [top]
    for here in open_:
        try:
            for bottom in _bottoms(here):
                if bottom not in found:
                    found[bottom] = _compose(found[here], _exact_map(here.fn))
                    open_.append(bottom)
        except UndefinedMapException:
            continue
    return found


def _exact_map_from_to(top_from, top_to):
    ours, theirs = _maps_to(top_from), _maps_to(top_to)
    for blob, mapped in theirs.items():
        if blob in ours:
            return _compose(mapped, _inverse(ours[blob]))
    raise UndefinedMapException('the blobs have no common ancestor through layers with coordinate maps')


def coord_map_from_to(top_from, top_to):
    """(axis, a, b): the pixel x of `top_from` is at a * x + b of `top_to`."""
    return _numbers(*_exact_map_from_to(top_from, top_to))


def crop(top_from, top_to):
    """A Crop layer that crops `top_from` to `top_to`."""
    axis, scales, offsets = _exact_map_from_to(top_from, top_to)
    if any(scale != 1 for scale in scales):
        raise CropException('the blobs differ in scale: %s' % [str(scale) for scale in scales])
    if any(offset > 0 or offset.denominator != 1 for offset in offsets):
        raise CropException('offsets are %s, but must be integers and not positive' % [str(each) for each in offsets])
    offsets = [int(-each) for each in offsets]
    if len(set(offsets)) == 1:
        offsets = offsets[:1]  # the same for all axes
    return _layers.Crop(top_from, top_to, crop_param=dict(axis=2 if axis is None else axis + 1, offset=offsets))
