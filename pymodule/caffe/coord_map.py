"""caffe.coord_map: where a pixel of one blob of a NetSpec lies in another, and the Crop that makes them meet.

Along each spatial axis a layer maps its top's coordinate x to its bottom's as scale * x + offset. A convolution's or
pooling's scale is its stride and its offset (extent of the window - 1) / 2 - pad; a deconvolution's map is that of the
convolution the other way round; layers that work value by value do not move anything.
"""
from fractions import Fraction

from .net_spec import layers as _layers

_MOVES_NOTHING = {
    'ReLU', 'PReLU', 'ELU', 'Sigmoid', 'TanH', 'AbsVal', 'BNLL', 'Power', 'Exp', 'Log', 'Dropout', 'Eltwise', 'Concat',
    'LRN', 'BatchNorm', 'Scale', 'Bias', 'Softmax', 'Threshold', 'Swish', 'Clip', 'MVN', 'BN'}


class UndefinedMapException(Exception):
    """The blobs do not lie on one way, or a layer between them has no map."""


class AxisMismatchException(Exception):
    """Ways to the same blob that do not agree."""


def _pair(options, name, default):
    """An option for height and width: one value, a list, or NAME_h and NAME_w."""
    if name + '_h' in options or name + '_w' in options:
        return [options.get(name + '_h', default), options.get(name + '_w', default)]
    value = options.get(name, default)
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * 2 if len(values) == 1 else values


def _window_map(function):
    options = dict(function.params)
    for nested in ('convolution_param', 'pooling_param'):
        options.update(options.pop(nested, {}))
    kernel = _pair(options, 'kernel_size', None)
    if 'kernel_h' in options or 'kernel_w' in options:
        kernel = [options.get('kernel_h'), options.get('kernel_w')]
    stride, pad, dilation = _pair(options, 'stride', 1), _pair(options, 'pad', 0), _pair(options, 'dilation', 1)
    if None in kernel:
        raise UndefinedMapException('%s has no kernel_size' % function.type_name)
    return [(Fraction(s), Fraction(d * (k - 1), 2) - p) for s, k, p, d in zip(stride, kernel, pad, dilation)]


def coord_map(function):
    """Per spatial axis (scale, offset), from the layer's top to its first bottom."""
    kind = function.type_name
    if kind in ('Convolution', 'Pooling', 'Im2col'):
        return _window_map(function)
    if kind == 'Deconvolution':
        return [(1 / scale, -offset / scale) for scale, offset in _window_map(function)]
    if kind == 'Crop':
        options = dict(function.params)
        options.update(options.pop('crop_param', {}))
        offset = options.get('offset', 0)
        offsets = list(offset) if isinstance(offset, (list, tuple)) else [offset]
        return [(Fraction(1), Fraction(each)) for each in (offsets * 2)[:2]]
    if kind in _MOVES_NOTHING:
        return [(Fraction(1), Fraction(0))] * 2
    raise UndefinedMapException('a %s has no map of coordinates' % kind)


def _behind(outer, inner):
    """What first `outer`, then `inner` does."""
    return [(a * c, c * b + d) for (a, b), (c, d) in zip(outer, inner)]


def _maps_from(top):
    """By blob that `top` depends on (through first bottoms; all of them where layers move nothing): the map to it."""
    found, open_ = {top: [(Fraction(1), Fraction(0))] * 2}, [top]
    while open_:
        here = open_.pop()
        function = here.fn
        inputs = function.inputs if function.type_name in _MOVES_NOTHING else function.inputs[:1]
        if not inputs:
            continue
        try:
            step = _behind(found[here], coord_map(function))
        except UndefinedMapException:
            continue
        for each in inputs:
            if each in found and found[each] != step:
                raise AxisMismatchException('two ways to one blob differ: %s and %s' % (found[each], step))
            if each not in found:
                found[each] = step
                open_.append(each)
    return found


def coord_map_from_to(top_from, top_to):
    """(axis, scales, offsets): a pixel x of `top_from` lies at scale * x + offset of `top_to`."""
    ours, theirs = _maps_from(top_from), _maps_from(top_to)
    for blob, mapped in ours.items():
        if blob in theirs:
            both = [(a / c, (b - d) / c) for (a, b), (c, d) in zip(mapped, theirs[blob])]
            return 1, [scale for scale, _ in both], [offset for _, offset in both]
    raise UndefinedMapException('the blobs have no blob in common that they depend on')


def crop(top_from, top_to):
    """A Crop layer that cuts `top_from` to the place of `top_to`."""
    _, scales, offsets = coord_map_from_to(top_from, top_to)
    if any(scale != 1 for scale in scales):
        raise AxisMismatchException('the blobs differ in scale: %s' % [str(scale) for scale in scales])
    if any(offset > 0 or offset.denominator != 1 for offset in offsets):
        raise AxisMismatchException('offsets are %s, and must be whole and not above 0' % [str(o) for o in offsets])
    return _layers.Crop(top_from, top_to, crop_param=dict(axis=2, offset=[int(-offset) for offset in offsets]))
