"""caffe.coord_map: where a pixel of one blob of a NetSpec lies in another, and the Crop that makes them meet.

A map is a triple (axis, a, b): the pixel x of one blob lies at a * x + b of the other, along each axis behind `axis`.
`a` and `b` are numbers where all these axes agree, else arrays with one of each for every axis; `axis` is None where
nothing moves. A convolution or pooling with extent k of its window (dilation included), stride s and padding p takes x
of its bottom to (x + p - (k - 1) / 2) / s; a deconvolution is the convolution the other way round.
"""
from fractions import Fraction

import numpy

from .net_spec import layers as _layers

PASS_THROUGH_LAYERS = [
    'AbsVal', 'BN', 'BNLL', 'BatchNorm', 'Bias', 'Clip', 'Concat', 'Dropout', 'ELU', 'Eltwise', 'Exp', 'LRN', 'Log',
    'MVN', 'PReLU', 'Power', 'ReLU', 'Scale', 'Sigmoid', 'Softmax', 'Split', 'Swish', 'TanH', 'Threshold']


class UndefinedMapException(RuntimeError):
    """No map leads from one blob to the other."""


class AxisMismatchException(Exception):
    """Maps along different axes, which cannot follow one another."""


class CropException(AxisMismatchException, AssertionError):
    """A blob that cannot be cut to the place of another."""


def _fractions(values):
    """Exact, so that scales which cancel out are 1."""
    return [each if isinstance(each, Fraction) else Fraction(float(each)) for each in numpy.atleast_1d(values)]


def _numbers(axis, a, b):
    """The map as scripts get it."""
    count = max(len(a), len(b))
    a, b = ([float(each) for each in (values * count if len(values) == 1 else values)] for values in (a, b))
    if len(set(a)) == len(set(b)) == 1:
        return axis, numpy.float64(a[0]), numpy.float64(b[0])
    return axis, numpy.array(a), numpy.array(b)


def _per_axis(options, name, default):
    """An option's values: NAME, for all axes or each, or NAME_h and NAME_w."""
    if name + '_h' in options or name + '_w' in options:
        return _fractions([options.get(name + '_h', default), options.get(name + '_w', default)])
    return _fractions(options.get(name, default))


def _options(function, *nested):
    options = dict(function.params)
    for name in nested:
        options.update(options.pop(name, {}))
    return options


def _aligned(*lists):
    """Lists of one value for every axis, where some have one for all of them."""
    count = max(len(each) for each in lists)
    if any(len(each) not in (1, count) for each in lists):
        raise AxisMismatchException('maps along different numbers of axes: %s' % sorted({len(each) for each in lists}))
    return zip(*(each * count if len(each) == 1 else each for each in lists))


def _window_map(function):
    options = _options(function, 'convolution_param', 'pooling_param')
    size = 'kernel' if 'kernel_h' in options or 'kernel_w' in options else 'kernel_size'
    if size not in options and size == 'kernel_size':
        raise UndefinedMapException('a %s without kernel_size has no map of coordinates' % function.type_name)
    a, b = [], []
    for kernel, stride, pad, dilation in _aligned(_per_axis(options, size, 1), _per_axis(options, 'stride', 1),
                                                  _per_axis(options, 'pad', 0), _per_axis(options, 'dilation', 1)):
        a.append(1 / stride)
        b.append((pad - dilation * (kernel - 1) / 2) / stride)
    return options.get('axis', 1), a, b


def _exact_map(function):
    kind = function.type_name
    if kind in ('Convolution', 'Pooling', 'Im2col'):
        return _window_map(function)
    if kind == 'Deconvolution':
        return _inverse(_window_map(function))
    if kind == 'Crop':
        options = _options(function, 'crop_param')
        return options.get('axis', 2) - 1, [Fraction(1)], [-each for each in _fractions(options.get('offset', 0))]
    if kind in PASS_THROUGH_LAYERS:
        return _nowhere()
    raise UndefinedMapException('a %s has no map of coordinates' % kind)


def _nowhere():
    return None, [Fraction(1)], [Fraction(0)]


def _inverse(mapped):
    axis, a, b = mapped
    both = [(1 / scale, -offset / scale) for scale, offset in _aligned(a, b)]
    return axis, [scale for scale, _ in both], [offset for _, offset in both]


def _compose(outer, inner):
    (outer_axis, a, b), (inner_axis, c, d) = outer, inner
    if None not in (outer_axis, inner_axis) and outer_axis != inner_axis:
        raise AxisMismatchException('maps along axes behind %d and behind %d' % (outer_axis, inner_axis))
    both = [(p * r, p * s + q) for p, q, r, s in _aligned(a, b, c, d)]
    return (inner_axis if outer_axis is None else outer_axis, [scale for scale, _ in both],
            [offset for _, offset in both])


def _exactly(mapped):
    axis, a, b = mapped
    return axis, _fractions(a), _fractions(b)


def coord_map(function):
    """The map of a layer, from its bottoms to its tops. Raises UndefinedMapException where it has none."""
    return _numbers(*_exact_map(function))


def compose(base_map, next_map):
    """What first `next_map`, then `base_map` does. Raises AxisMismatchException where their axes differ."""
    return _numbers(*_compose(_exactly(base_map), _exactly(next_map)))


def inverse(coord_map):
    """The way back."""
    return _numbers(*_inverse(_exactly(coord_map)))


def _bottoms(top):
    """Those whose pixels the top's pixels are made of, at the places that the layer's map says."""
    function = top.fn
    if function.type_name == 'Crop':
        return function.inputs[:1]  # the other one gives its extents alone
    if function.type_name not in PASS_THROUGH_LAYERS and function.ntop == len(function.inputs):
        return [function.inputs[top.n]]
    return function.inputs


def _maps_to(top):
    """By blob that `top` is made of: the map from there, on the first of the shortest ways."""
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
    raise UndefinedMapException('the blobs have no blob in common that layers with a map of coordinates make them of')


def coord_map_from_to(top_from, top_to):
    """(axis, a, b): the pixel x of `top_from` lies at a * x + b of `top_to`."""
    return _numbers(*_exact_map_from_to(top_from, top_to))


def crop(top_from, top_to):
    """A Crop layer that cuts `top_from` to the place of `top_to`."""
    axis, scales, offsets = _exact_map_from_to(top_from, top_to)
    if any(scale != 1 for scale in scales):
        raise CropException('the blobs differ in scale: %s' % [str(scale) for scale in scales])
    if any(offset > 0 or offset.denominator != 1 for offset in offsets):
        raise CropException('offsets are %s, and must be whole and not above 0' % [str(each) for each in offsets])
    offsets = [int(-each) for each in offsets]
    if len(set(offsets)) == 1:
        offsets = offsets[:1]  # of all axes
    return _layers.Crop(top_from, top_to, crop_param=dict(axis=2 if axis is None else axis + 1, offset=offsets))
