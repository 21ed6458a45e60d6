"""caffe.coord_map: maps of pixels between blobs, against arithmetic and against nets."""
import itertools

import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe
from caffe import coord_map as maps, layers as L, params as P
from caffe.coord_map import coord_map_from_to


def net(kernel=3, stride=1, pad=0, pool=2, up=2, up_pad=0, dilation=1, axes=2):
    """data, conv, pool, and up, which reverses the pooling's stride."""
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 1] + [40] * axes))
    n.other = L.Input(shape=dict(dim=[1, 1] + [40] * axes))
    n.conv = L.Convolution(n.data, num_output=1, kernel_size=kernel, stride=stride, pad=pad, dilation=dilation)
    n.pool = L.Pooling(n.conv, pool=P.Pooling.MAX, kernel_size=pool, stride=pool, pad=0)
    n.up = L.Deconvolution(n.pool, num_output=1, kernel_size=2 * up, stride=up, pad=up_pad)
    return n


def test_same_for_all_axes_is_a_number():
    n = net()
    axis, a, b = coord_map_from_to(n.up, n.data)
    assert (axis, a, b) == (1, 1, 0) and np.ndim(a) == np.ndim(b) == 0
    assert coord_map_from_to(n.data, n.data) == (None, 1, 0)
    assert coord_map_from_to(n.pool, n.data) == (1, 2, 1.5) and coord_map_from_to(n.data, n.pool) == (1, 0.5, -0.75)
    assert bool((a == 1).all() and (b <= 0).all())  # numpy booleans, as for arrays


@pytest.mark.parametrize('pad', range(0, 11, 5))
def test_padding(pad):
    def offset(**options):
        n = net(**options)
        axis, a, b = coord_map_from_to(n.up, n.data)
        assert (axis, a) == (1, 1)
        return b
    assert offset(pad=pad) == offset() - pad
    assert offset(up_pad=pad) == offset() + pad
    assert offset(pad=pad, up_pad=pad) == offset()


def test_dilation_and_strides_that_are_no_power_of_2():
    n = net(kernel=3, dilation=4)
    assert coord_map_from_to(n.conv, n.data) == (1, 1, 4)
    for stride in range(1, 60):
        n = net(kernel=stride, pool=stride, up=stride, pad=1)
        assert coord_map_from_to(n.up, n.data) == (1, 1, -1.5), stride


def test_layers_that_work_value_by_value_pass_through():
    n = net()
    wanted = coord_map_from_to(n.up, n.data)
    for kind in maps.PASS_THROUGH_LAYERS:
        assert coord_map_from_to(getattr(L, kind)(n.up), n.data) == wanted, kind
    assert coord_map_from_to(L.Convolution(L.ReLU(n.up), kernel_size=1), n.data) == wanted
    assert coord_map_from_to(L.Eltwise(n.other, n.up), n.data) == wanted  # through any bottom


def test_axes_that_differ():
    nets = net(3, 1, 0), net(5, 2, 10), net([3, 5], [1, 2], [0, 10])
    (axis_1, a_1, b_1), (axis_2, a_2, b_2), (axis, a, b) = (coord_map_from_to(n.up, n.data) for n in nets)
    assert axis == axis_1 == axis_2 and list(a) == [a_1, a_2] and list(b) == [b_1, b_2]
    n = net(up=2)
    n.wide = L.Convolution(n.data, kernel_h=3, kernel_w=5, stride_h=1, stride_w=2, pad_h=0, pad_w=10)
    assert [list(each) for each in coord_map_from_to(n.wide, n.data)[1:]] == [[1, 2], [1, -8]]


def test_volumes():
    n = net([3, 3, 3], [1, 1, 1], [0, 1, 2], axes=3)
    axis, a, b = coord_map_from_to(n.up, n.data)
    assert axis == 1 and list(a) == [1, 1, 1] and list(b) == [0, -1, -2]


def test_several_bottoms_and_tops():
    n = net()
    n.of_data, n.of_other = L.Convolution(n.data, n.other, ntop=2, num_output=1, kernel_size=5, stride=2)
    assert coord_map_from_to(n.of_data, n.data) == coord_map_from_to(n.of_other, n.other) == (1, 2, 2)


def test_crop_of_crop():
    n = net()
    axis, a, b = coord_map_from_to(n.up, n.data)
    for offset, wanted in ((7, b + 7), ([3, 5], [b + 3, b + 5])):
        n.crop = L.Crop(n.up, n.data, axis=2, offset=offset)
        axis_of_crop, scale, found = coord_map_from_to(n.crop, n.data)
        assert axis_of_crop == axis and np.all(scale == a) and np.array_equal(found, wanted)
    n.crop = L.Crop(n.up, n.conv, crop_param=dict(offset=2))  # not at n.conv's own position
    assert coord_map_from_to(n.crop, n.data)[2] == b + 2


def test_crop_helper():
    n = net(pad=10)
    n.crop = maps.crop(n.up, n.data)
    layer = n.to_proto().layer[-1]
    assert layer.type == 'Crop' and layer.crop_param.axis == 2 and list(layer.crop_param.offset) == [10]
    assert coord_map_from_to(n.crop, n.data) == (1, 1, 0)
    n = net([3, 5], pad=[3, 5])
    assert list(maps.crop(n.up, n.data).fn.params['crop_param']['offset']) == [3, 4]
    assert maps.crop(L.ReLU(n.data), n.data).fn.params['crop_param'] == dict(axis=2, offset=[0])


def test_compose_and_inverse():
    conv, up = maps.coord_map(net(3, 2, 1).conv.fn), maps.coord_map(net().up.fn)
    assert conv == (1, 0.5, 0) and up == (1, 2, 1.5)
    assert maps.inverse(up) == (1, 0.5, -0.75) and maps.inverse(maps.inverse(up)) == up
    assert maps.compose(conv, up) == (1, 1, 0.75) and maps.compose((None, 1, 0), up) == up
    assert maps.coord_map(net(3, 3).conv.fn)[1] == pytest.approx(1 / 3)
    with pytest.raises(maps.AxisMismatchException): maps.compose(conv, (2, 1, 0))
    two, three = (1, np.ones(2), np.ones(2)), (1, np.ones(3), np.ones(3))
    with pytest.raises(maps.AxisMismatchException): maps.compose(two, three)


def test_axes_that_do_not_match():
    n = net()
    n.later = L.Convolution(n.conv, kernel_size=3, axis=2)
    with pytest.raises(maps.AxisMismatchException): coord_map_from_to(n.later, n.data)


def test_no_path():
    n = net()
    n.ip = L.InnerProduct(n.up, num_output=10)
    n.whole = L.Pooling(n.conv, global_pooling=True)
    for top in (n.ip, n.whole, n.other, L.Convolution(n.ip, kernel_size=1)):
        with pytest.raises(maps.UndefinedMapException, match='no common ancestor'): coord_map_from_to(top, n.data)
        with pytest.raises(RuntimeError): maps.crop(top, n.data)
    with pytest.raises(maps.UndefinedMapException, match='InnerProduct'): maps.coord_map(n.ip.fn)


@pytest.mark.parametrize('options, words', [(dict(pool=3), 'scale'), (dict(up_pad=10), 'not positive'),
                                            (dict(kernel=2), 'integers')])
def test_blobs_that_cannot_be_cropped_to_each_other(options, words):
    n = net(**options)
    with pytest.raises(AssertionError, match=words): maps.crop(n.up, n.data)
    with pytest.raises(maps.AxisMismatchException): maps.crop(n.up, n.data)


@pytest.mark.parametrize('kernel, stride, pad', itertools.product((1, 3, 4), (1, 2, 3), (0, 1)))
def test_against_the_receptive_field_of_a_net(folder, kernel, stride, pad):
    """The center of the receptive field of one value."""
    n = caffe.NetSpec()
    n.data = L.Input(shape=dict(dim=[1, 1, 24, 24]))
    n.conv = L.Convolution(n.data, num_output=1, kernel_size=kernel, stride=stride, pad=pad,
                           weight_filler=dict(type='constant', value=1))
    (folder / 'net').write_text('force_backward: true\n' + str(n.to_proto()))
    ran = caffe.Net('net', caffe.TEST)
    ran.forward()
    at = np.zeros(ran.blobs['conv'].shape, np.float32)
    at[0, 0, 4, 4] = 1
    seen = np.flatnonzero(ran.backward(conv=at)['data'][0, 0].any(1))
    _, a, b = coord_map_from_to(n.conv, n.data)
    assert a * 4 + b == (seen[0] + seen[-1]) / 2
