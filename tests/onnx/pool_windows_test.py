"""Pooling with every small kernel, stride, padding, extent and rounding: the net and its model compute what Caffe's
formulas say, with padding that ONNX Runtime accepts, also for a last window beyond the image; and a net of a model
computes what ONNX's definition says, with uneven padding and ceil_mode."""
import itertools

import pytest

from tests.onnx.random_weights import far, numpy, onnx

from onnx import helper, numpy_helper

KINDS = 'MAX', 'AVE', 'AVE avg_include_pad: false'
DRAW = numpy.random.RandomState(8)


def count(extent, kernel, stride, pad, up):
    """The number of windows; 0 if they are refused."""
    room = extent + 2 * pad - kernel
    if room < 0: return int(up and room > -stride)
    windows = (room + (stride - 1) * up) // stride + 1
    return windows - (pad > 0 and (windows - 1) * stride >= extent + pad)


def sides():
    """All windows of one axis, as extent, kernel, stride, pad, up."""
    for up, kernel, stride, extent in itertools.product((True, False), (1, 2, 3), (1, 2, 3, 4), (1, 2, 5, 6, 7)):
        for pad in range(kernel):
            if count(extent, kernel, stride, pad, up): yield extent, kernel, stride, pad, up


def pooled(x, axes, kind):
    """By the formulas of Caffe; an empty window is 0."""
    out = numpy.zeros(x.shape[:2] + tuple(count(*axis) for axis in axes))
    for place in itertools.product(*(range(n) for n in out.shape[2:])):
        parts, area = [slice(None)] * 2, 1
        for at, (extent, kernel, stride, pad, _) in zip(place, axes):
            start = at * stride - pad
            stop = min(start + kernel, extent + pad)
            parts.append(slice(max(start, 0), max(min(stop, extent), 0)))
            area *= max(1, stop - start)
        values = x[tuple(parts)].reshape(*x.shape[:2], -1)
        if values.shape[2] == 0: continue
        out[(...,) + place] = (values.max(2) if kind == 'MAX' else
                               values.sum(2) / (area if kind == 'AVE' else values.shape[2]))
    return out


def evaluated(model, x):
    """The outputs of a model of these operators alone, by ONNX's definitions."""
    graph, values = model.graph, dict(x)
    values.update({each.name: numpy_helper.to_array(each) for each in graph.initializer})
    for node in graph.node:
        options = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        data = values[node.input[0]]
        if node.op_type == 'Pad':
            pads = values[node.input[1]].reshape(2, -1).T
            fill = values[node.input[2]] if len(node.input) > 2 else 0
            values[node.output[0]] = numpy.pad(data, pads, constant_values=fill)
            continue
        if node.op_type not in ('MaxPool', 'AveragePool'): continue  # what indices become
        kernel, pads = options['kernel_shape'], numpy.reshape(options['pads'], (2, -1)).T
        assert (pads < numpy.reshape(kernel, (-1, 1))).all(), (node.name, options)
        assert options.get('ceil_mode', 0) == 0 and options.get('count_include_pad', 0) == 0
        wide = numpy.pad(data, [(0, 0)] * 2 + [tuple(pad) for pad in pads], constant_values=numpy.nan)
        windows = numpy.lib.stride_tricks.sliding_window_view(wide, kernel, tuple(range(2, wide.ndim)))
        windows = windows[(slice(None),) * 2 + tuple(slice(None, None, step) for step in options['strides'])]
        inner = tuple(range(wide.ndim, windows.ndim))
        values[node.output[0]] = (numpy.nanmax if node.op_type == 'MaxPool' else numpy.nanmean)(windows, inner)
    return values


def of_images(h, w, kind):
    lists = ' '.join('%s_%s: %d' % (name, side, axis[i]) for side, axis in (('h', h), ('w', w))
                     for i, name in ((1, 'kernel'), (2, 'stride'), (3, 'pad')))
    return 'Pooling', 'pooling_param { pool: %s %s round_mode: %s }' % (kind, lists, 'CEIL' if h[4] else 'FLOOR')


def of_any(axes, kind):
    lists = ' '.join('%s: %d' % (name, axis[i]) for axis in axes
                     for i, name in ((1, 'kernel_size'), (2, 'stride'), (3, 'pad')))
    return 'PoolingND', 'pooling_nd_param { pool: %s %s }' % (kind, lists)


@pytest.fixture
def check(folder, infer, run, runtime):
    """check([(axes, kind, (type, options))]) puts the layers into a net, each on the input of its extents."""
    def check(layers):
        x = {}
        text = ''
        for i, (axes, kind, (name, options)) in enumerate(layers):
            blob = 'x' + '_'.join(str(axis[0]) for axis in axes)
            if blob not in x:
                x[blob] = DRAW.normal(0, 1, [2, 2] + [axis[0] for axis in axes]).astype('f4')
                shape = ' '.join('dim: %d' % extent for extent in x[blob].shape)
                text = ('layer { name: "%s" type: "Input" top: "%s" input_param { shape { %s } } }\n'
                        % (blob, blob, shape)) + text
            text += 'layer { name: "y%d" type: "%s" bottom: "%s" top: "y%d" %s }\n' % (i, name, blob, i, options)
        (folder / 'net.prototxt').write_text(text)
        run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx', timeout=300)
        names = ['y%d' % i for i in range(len(layers))]
        of_net = infer('net.prototxt', None, x, names)
        of_model = evaluated(onnx.load('net.onnx'), x)
        back = infer('net.onnx', None, x, names)
        others = runtime('net.onnx', x, names) if runtime else back
        for i, (axes, kind, _) in enumerate(layers):
            wanted = pooled(x['x' + '_'.join(str(axis[0]) for axis in axes)], axes, kind).astype('f4')
            for got in of_net[i], of_model['y%d' % i], back[i], others[i]: assert far(got, wanted) < 1e-5, (axes, kind)
    return check


@pytest.mark.parametrize('kind', KINDS)
def test_images(check, kind):
    layers = []
    for up in True, False:
        all_sides = [side for side in sides() if side[4] == up]
        for i, h in enumerate(all_sides):
            w = all_sides[(i * 37 + 11) % len(all_sides)]
            layers.append(((h, w), kind, of_images(h, w, kind)))
    assert any(h[0] <= (count(*h) - 1) * h[2] - h[3] for (h, _), _, _ in layers)  # a window beyond the image
    check(layers)


@pytest.mark.parametrize('kind', KINDS[:2])
@pytest.mark.parametrize('axes', (1, 3))
def test_sequences_and_volumes(axes, check, kind):
    all_sides = [side for side in sides() if side[4]]
    chosen = [[all_sides[(i * (7 * k + 1)) % len(all_sides)] for k in range(axes)] for i in range(len(all_sides))]
    check([(each, kind, of_any(each, kind)) for each in (chosen if axes == 1 else chosen[::3])])


def test_indices_of_maxima(folder, infer, run, runtime):
    """The index of an empty window is -1."""
    (folder / 'net.prototxt').write_text('''
layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 dim: 6 dim: 5 } } }
layer { name: "p" type: "Pooling" bottom: "x" top: "y" top: "z" pooling_param { kernel_size: 1 stride: 3 } }''')
    run('convert', 'onnx', 'net.prototxt', '-o', 'net.onnx')
    x = {'x': DRAW.normal(0, 1, (1, 2, 6, 5)).astype('f4')}
    y, z = infer('net.prototxt', None, x, ['y', 'z'])
    places = numpy.array([[0, 3, -1], [15, 18, -1], [-1, -1, -1]])
    assert (z == places).all()
    assert (y == numpy.where(places < 0, 0, x['x'].reshape(1, 2, -1)[:, :, places])).all()
    [node] = [node for node in onnx.load('net.onnx').graph.node if node.op_type == 'MaxPool']
    assert all(one.name != 'pads' or max(one.ints) == 0 for one in node.attribute)
    if runtime: assert all((a == b).all() for a, b in zip(runtime('net.onnx', x, ['y', 'z']), (y, z)))


def onnx_places(extent, kernel, stride, before, behind, up, dilation):
    """Of one axis of a model's pooling: for each window the places it reads, also in the padding but not beyond it."""
    room = extent + before + behind - (dilation * (kernel - 1) + 1)
    if room < 0: return []
    starts = [i * stride - before for i in range((room + (stride - 1) * up) // stride + 1)]
    starts = [start for start in starts if start < extent or not up]  # not in the padding after the image
    return [[p for p in range(start, start + kernel * dilation, dilation) if p < extent + behind] for start in starts]


def model_sides(up):
    """All windows of one axis of a model of which none is entirely in the padding, as onnx_places() takes them."""
    for kernel, stride, extent, dilation in itertools.product((1, 2, 3), (1, 2, 3, 4), (1, 2, 5, 6), (1, 2)):
        for before, behind in itertools.product(range(kernel), repeat=2):
            side = extent, kernel, stride, before, behind, up, dilation
            places = onnx_places(*side)
            if places and all(any(0 <= p < extent for p in window) for window in places): yield side


def pooled_by_onnx(x, sides, kind):
    lists = [onnx_places(*side) for side in sides]
    out = numpy.zeros(x.shape[:2] + tuple(len(places) for places in lists))
    for place in itertools.product(*(range(len(places)) for places in lists)):
        read = [places[i] for places, i in zip(lists, place)]
        inside = [[p for p in window if 0 <= p < side[0]] for window, side in zip(read, sides)]
        values = x[:, :, inside[0]][:, :, :, inside[1]].reshape(*x.shape[:2], -1)
        number = len(read[0]) * len(read[1]) if kind == 'counts' else values.shape[2]
        out[(...,) + place] = values.max(2) if kind == 'max' else values.sum(2) / number
    return out


@pytest.mark.parametrize('kind', ('max', 'average', 'counts'))
@pytest.mark.parametrize('up', (True, False), ids=('ceil', 'floor'))
def test_models(up, kind, folder, infer, runtime):
    all_sides = [side for side in model_sides(up) if kind == 'max' or side[6] == 1]
    x, nodes, wanted = {}, [], []
    for i, h in enumerate(all_sides[::4]):
        w = all_sides[(i * 37 + 11) % len(all_sides)]
        blob = 'x%d_%d' % (h[0], w[0])
        if blob not in x: x[blob] = DRAW.normal(0, 1, (1, 2, h[0], w[0])).astype('f4')
        options = {'ceil_mode': int(up), 'kernel_shape': [h[1], w[1]], 'strides': [h[2], w[2]],
                   'pads': [h[3], w[3], h[4], w[4]]}
        if kind == 'max': options['dilations'] = [h[6], w[6]]
        else: options['count_include_pad'] = int(kind == 'counts')
        nodes.append(helper.make_node('MaxPool' if kind == 'max' else 'AveragePool', [blob], ['y%d' % i], **options))
        wanted.append(pooled_by_onnx(x[blob], (h, w), kind))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, 'pools', [info(name, 1, values.shape) for name, values in x.items()],
                              [info('y%d' % i, 1, values.shape) for i, values in enumerate(wanted)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 19)], ir_version=8), 'net.onnx')
    names = ['y%d' % i for i in range(len(nodes))]
    for each in (infer, runtime):
        if not each: continue
        got = infer('net.onnx', None, x, names) if each is infer else runtime('net.onnx', x, names)
        for node, of_net, values in zip(nodes, got, wanted):
            assert of_net.shape == values.shape, node
            assert far(of_net, values.astype('f4')) < 1e-5, node
