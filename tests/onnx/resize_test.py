"""Resize and Upsample compute extents and coordinates in 32-bit floats, step by step as ONNX Runtime does: products
such as 20 x 0.7 are whole numbers there, and coordinates halfway between two pixels fall on the same side."""
import itertools

import pytest

from tests.onnx.random_weights import far, numpy, onnx

from onnx import TensorProto, helper, numpy_helper

F = numpy.float32
FACTORS = [0.1, 0.3, 0.35, 0.55, 0.6, 0.7, 0.77, 1.1, 1.15, 1.2, 1.3, 1.4, 1.7, 2.1, 2.3, 2.5, 2.7, 3, 3.3, 4.4]
EXTENTS = 5, 10, 20, 37, 50
TRANSFORMS = 'half_pixel', 'pytorch_half_pixel', 'align_corners', 'asymmetric', 'half_pixel_symmetric'
ROUNDINGS = 'round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'


def place(transform, i, factor, extent, out):
    """In the order of the operations of ONNX Runtime; all operands are 32-bit floats."""
    i, extent, length = F(i), F(extent), F(out)
    if transform == 'align_corners': return i * (extent - F(1)) / (length - F(1)) if out > 1 else F(0)
    if transform == 'asymmetric': return i / factor
    if transform == 'pytorch_half_pixel' and out == 1: return F(0)
    if transform != 'half_pixel_symmetric': return (i + F(.5)) / factor - F(.5)
    offset = extent / F(2) * (F(1) - length / (factor * extent))
    return F(float(offset) + (float(i) + .5) / float(factor) - .5)


def nearest(rounding, at, shrinks):
    down = numpy.floor(at)
    if rounding == 'simple': rounding = 'ceil' if shrinks else 'floor'
    if rounding in ('floor', 'ceil'): return getattr(numpy, rounding)(at)
    if abs(at - down - F(.5)) < F(1e-6): return down + (rounding == 'round_prefer_ceil')
    return down + (at - down > F(.5))


def save(opset, nodes, constants, extent, count):
    values = [numpy_helper.from_array(numpy.array(v), k) for k, v in constants.items()]
    x, ys = [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['N', 1, 1, extent])], [
        helper.make_tensor_value_info('y%d' % i, TensorProto.FLOAT, None) for i in range(count)]
    graph = helper.make_graph(nodes, 'net', x, ys, values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)], ir_version=8), 'net.onnx')


def resize(i, op, mode, inputs, **options):
    return helper.make_node(op, inputs, ['y%d' % i], mode=mode, **options)


@pytest.fixture
def check(folder, infer, runtime):
    """check(extent, expected) compares the outputs of net.onnx, for pixels 0, 1, 2, ... An image that keeps its size
    stays as it is."""
    def check(extent, wanted):
        x = {'x': numpy.arange(extent, dtype='f4').reshape(1, 1, 1, -1)}
        names = ['y%d' % i for i in range(len(wanted))]
        got = infer('net.onnx', None, x, names)
        for i, row in enumerate(wanted):
            assert far(got[i].ravel(), numpy.array(range(extent) if len(row) == extent else row, 'f4')) < 1e-5, i
        for name, a, b in zip(names, runtime('net.onnx', x, names) if runtime else [], got):
            assert far(a, b) < 1e-5, (extent, name)
    return check


@pytest.mark.parametrize('extent', EXTENTS)
def test_nearest_by_factors(check, extent):
    nodes, wanted, constants = [], [], {}
    for i, (factor, transform, rounding) in enumerate(itertools.product(FACTORS, TRANSFORMS, ROUNDINGS)):
        out = int(F(factor) * F(extent))
        if out < 1: continue
        constants['s%g' % factor] = numpy.array([1, 1, 1, factor], 'f4')
        nodes.append(resize(len(wanted), 'Resize', 'nearest', ['x', '', 's%g' % factor],
                            coordinate_transformation_mode=transform, nearest_mode=rounding))
        wanted.append([min(max(int(nearest(rounding, place(transform, k, F(factor), extent, out), factor < 1)), 0),
                           extent - 1) for k in range(out)])
    save(19, nodes, constants, extent, len(wanted))
    check(extent, wanted)


def test_whole_products(check):
    """20 x 0.7 and others, which are below a whole number if a factor in 32 bits is multiplied in 64 bits."""
    wanted = {0.7: 14, 1.3: 26, 2.3: 46, 0.35: 7}
    save(13, [resize(i, 'Resize', 'linear', ['x', '', 's%d' % i]) for i in range(4)],
         {'s%d' % i: numpy.array([1, 1, 1, factor], 'f4') for i, factor in enumerate(wanted)}, 20, 4)
    rows = []
    for factor, out in wanted.items():
        at = [numpy.clip(place('half_pixel', k, F(factor), 20, out), F(0), F(19)) for k in range(out)]
        rows.append([float(value) for value in at])  # the pixels' values are their places
    check(20, rows)


@pytest.mark.parametrize('op, opset', (('Upsample', 9), ('Resize', 10)))
def test_former_opsets(check, op, opset):
    """They have no options of rounding: a smaller image takes the pixel after the coordinate."""
    factors = [factor for factor in FACTORS if factor >= 1 or op == 'Resize']
    save(opset, [resize(i, op, 'nearest', ['x', 's%d' % i]) for i in range(len(factors))],
         {'s%d' % i: numpy.array([1, 1, 1, factor], 'f4') for i, factor in enumerate(factors)}, 20, len(factors))
    check(20, [[min(int(nearest('simple', place('asymmetric', k, F(factor), 20, 0), factor < 1)), 19)
                for k in range(int(F(factor) * F(20)))] for factor in factors])


@pytest.mark.parametrize('policy', ('stretch', 'not_larger', 'not_smaller'))
def test_sizes(check, policy):
    """Their factors are quotients in 32 bits, too."""
    sizes = [7, 11, 13, 14, 19, 23, 26, 33, 46, 71]
    options = {} if policy == 'stretch' else {'keep_aspect_ratio_policy': policy, 'axes': [3]}
    save(19, [resize(i, 'Resize', 'nearest', ['x', '', '', 's%d' % i], nearest_mode='floor', **options)
              for i in range(len(sizes))],
         {'s%d' % i: numpy.array([size] if options else [1, 1, 1, size], 'i8') for i, size in enumerate(sizes)}, 20,
         len(sizes))
    check(20, [[min(max(int(nearest('floor', place('half_pixel', k, F(size) / F(20), 20, size), False)), 0), 19)
                for k in range(size)] for size in sizes])
