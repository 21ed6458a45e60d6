"""How nets are made, and the arguments of passes, against arithmetic in numpy."""
import itertools, pathlib

import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe

FILLED = 'weight_filler { type: "gaussian" std: 1 } bias_filler { type: "gaussian" std: 1 }'


def layer(name, kind, bottoms, tops, options=''):
    blobs = ['bottom: "%s"' % each for each in bottoms.split()] + ['top: "%s"' % each for each in tops.split()]
    return 'layer { name: "%s" type: "%s" %s %s }\n' % (name, kind, ' '.join(blobs), options)


# The names of layers and of blobs differ; `one` is a layer and another layer's top.
TEXT = 'force_backward: true\n' + layer('in', 'Input', '', 'x', 'input_param { shape { dim: 4 dim: 3 } }') + \
    layer('one', 'InnerProduct', 'x', 'a', 'inner_product_param { num_output: 5 %s }' % FILLED) + \
    layer('relu', 'ReLU', 'a', 'a') + layer('cut', 'Slice', 'a', 'left one', 'slice_param { slice_point: 2 }') + \
    layer('two', 'InnerProduct', 'left', 'b', 'inner_product_param { num_output: 2 %s }' % FILLED) + \
    layer('twice', 'Power', 'one', 'c', 'power_param { scale: 2 }')


@pytest.fixture
def draws(): return np.random.default_rng(1)


@pytest.fixture
def net(folder):
    (folder / 'net').write_text(TEXT)
    return caffe.Net('net', caffe.TEST)


def close(seen, right): return np.shape(seen) == np.shape(right) and np.allclose(seen, right, rtol=1e-4, atol=1e-5)


class Right:
    """What the net computes, and its gradients."""

    def __init__(self, net, x):
        (self.w1, b1), (self.w2, b2) = ([blob.data.astype(float) for blob in net.params[name]]
                                        for name in ('one', 'two'))
        self.x, self.before = x, x @ self.w1.T + b1
        self.a = np.maximum(self.before, 0)
        self.left, self.one = self.a[:, :2], self.a[:, 2:]
        self.b, self.c = self.left @ self.w2.T + b2, 2 * self.one

    def back(self, db, dc):
        self.db, self.dleft, self.done = db, db @ self.w2, 2 * dc
        self.da = np.hstack([self.dleft, self.done]) * (self.before > 0)
        self.dx, self.dw1, self.dw2 = self.da @ self.w1, self.da.T @ self.x, db.T @ self.left
        return self


# Making nets

STATES = layer('x', 'Input', '', 'x', 'input_param { shape { dim: 1 dim: 2 } }') + ''.join(
    layer(name, 'InnerProduct', 'x', name, 'inner_product_param { num_output: 1 } include { %s }' % rule)
    for name, rule in (('train', 'phase: TRAIN'), ('test', 'phase: TEST'), ('upper', 'min_level: 2'),
                       ('deploy', 'stage: "deploy"'), ('both', 'stage: "deploy" stage: "more"')))


@pytest.fixture
def stated(folder):
    (folder / 'states').write_text(STATES)
    all_ = caffe.Net('states', caffe.TEST, 2, ['deploy', 'more'])
    for blobs in all_.params.values(): blobs[0].data[...] = 7
    all_.save('weights')
    return folder


FORMS = {  # positional arguments, keywords; the last have weights
    'phase': (('states', caffe.TEST), {}, 'test'), 'number': (('states', 0), {}, 'train'),
    'numpy': (('states', np.int64(1)), {}, 'test'),
    'keyword': ((), dict(network_file='states', phase=caffe.TRAIN), 'train'),
    'level': (('states', caffe.TEST, 3), {}, 'test upper'), 'low': (('states', caffe.TRAIN, 1), {}, 'train'),
    'level=': (('states',), dict(level=2, phase=caffe.TEST), 'test upper'),
    'stages': (('states', caffe.TEST, 0, ['deploy']), {}, 'test deploy'),
    'stages=': (('states', caffe.TRAIN), dict(stages=('more', 'deploy')), 'train deploy both'),
    'none': (('states', caffe.TEST, 0, None, None), {}, 'test'),
    'five': (('states', caffe.TEST, 2, ['deploy', 'more'], 'weights'), {}, 'test upper deploy both *'),
    'all=': ((), dict(network_file='states', phase=1, level=2, stages=['deploy'], weights='weights'),
             'test upper deploy *'),
    'weights=': (('states', caffe.TEST), dict(weights='weights'), 'test *'),
    'old': (('states', 'weights', caffe.TEST), {}, 'test *'), 'old none': (('states', None, caffe.TEST), {}, 'test'),
    'old phase=': (('states', 'weights'), dict(phase=caffe.TEST), 'test *'),
    'old level=': (('states', 'weights', caffe.TEST), dict(level=5), 'test upper *'),
    'bytes': ((b'states', b'weights', caffe.TEST), {}, 'test *'),
    'path': ((pathlib.Path('states'), pathlib.Path('weights'), caffe.TEST), {}, 'test *')}


@pytest.mark.parametrize('form', FORMS)
def test_forms_of_a_net(stated, form):
    arguments, keywords, right = FORMS[form]
    net = caffe.Net(*arguments, **keywords)
    names = right.split()
    assert list(net.params) == [name for name in names if name != '*']
    for blobs in net.params.values(): assert (blobs[0].data == (7 if '*' in names else 0)).all()


@pytest.mark.parametrize('arguments, keywords', [
    (('states',), {}), (('states', 2), {}), (('states', 'weights'), {}), ((), dict(phase=caffe.TEST)),
    (('states', caffe.TEST), dict(phase=caffe.TEST)), (('states', 'weights', caffe.TEST), dict(weights='weights')),
    (('states', caffe.TEST), dict(stage='deploy'))])
def test_wrong_forms_of_a_net(stated, arguments, keywords):
    with pytest.raises(TypeError): caffe.Net(*arguments, **keywords)


# Passes

def test_forward_from_and_to_each_layer(net, draws):
    x, names = draws.normal(size=(4, 3)), list(net._layer_names)
    right = Right(net, x)
    after = {'in': {'x': x}, 'one': {'a': right.before}, 'relu': {'a': right.a},
             'cut': {'left': right.left, 'one': right.one}, 'two': {'b': right.b}, 'twice': {'c': right.c}}
    for first, last in itertools.combinations_with_replacement(range(len(names)), 2):
        net.blobs['x'].data[...] = x
        if first: net.forward(end=names[first - 1])
        seen = net.forward(start=names[first], end=names[last], blobs=['x'])
        assert set(seen) == set(after[names[last]]) | {'x'}, (first, last)
        for name, values in after[names[last]].items(): assert close(seen[name], values), (first, last, name)
    net.blobs['one'].data[...] = 5
    assert (net.forward(start='twice')['c'] == 10).all() and close(net.blobs['b'].data, right.b)


def test_forward_returns_more_blobs(net, draws):
    x = draws.normal(size=(4, 3))
    right = Right(net, x)
    seen = net.forward(blobs=['left', 'a'], x=x)
    assert set(seen) == {'b', 'c', 'left', 'a'}
    for name in seen: assert close(seen[name], getattr(right, name)), name
    with pytest.raises(KeyError, match='nonsense'): net.forward(blobs=['nonsense'])


def test_backward_from_and_to_each_layer(net, draws):
    x, names = draws.normal(size=(4, 3)), list(net._layer_names)
    db, dc = draws.normal(size=(4, 2)), draws.normal(size=(4, 3))
    right = Right(net, x).back(db, dc)
    net.forward(x=x)
    seen = net.backward(b=db, c=dc, diffs=['left', 'one'])
    assert set(seen) == {'x', 'left', 'one'}
    assert close(seen['x'], right.dx) and close(seen['left'], right.dleft) and close(seen['one'], right.done)
    bottoms = {'twice': ('one', right.done), 'two': ('left', right.dleft),
               'cut': ('a', np.hstack([right.dleft, right.done])), 'relu': ('a', right.da), 'one': ('x', right.dx)}
    for end, (name, values) in bottoms.items():
        net.blobs['x'].diff[...] = 9
        net.forward(x=x)
        seen = net.backward(end=end, b=db, c=dc)
        assert list(seen) == [name] and close(seen[name], values), end
        if end != 'one':
            assert (net.blobs['x'].diff == 9).all()
            assert close(net.backward(start=names[names.index(end) - 1])['x'], right.dx), end
    for start, given in (('two', dict(b=db)), ('cut', dict(left=right.dleft, one=right.done)),
                         ('one', dict(a=right.da))):
        net.forward(x=x)
        seen = net.backward(start=start, end='one', diffs=['a'], **given)
        assert set(seen) == {'x', 'a'}, start
        if start != 'two': assert close(seen['x'], right.dx if start == 'cut' else right.da @ right.w1), start


@pytest.mark.parametrize('rows', (1, 4, 9))
def test_all_rows(net, draws, rows):
    x = draws.normal(size=(rows, 3)).astype(np.float32)
    db, dc = draws.normal(size=(rows, 2)), draws.normal(size=(rows, 3))
    right = Right(net, x).back(db, dc)
    seen = net.forward_all(x=x, blobs=['left'])
    assert set(seen) == {'b', 'c', 'left'}
    for name in seen: assert close(seen[name], getattr(right, name)), name
    net.clear_param_diffs()
    outs, diffs = net.forward_backward_all(x=x, b=db, c=dc, blobs=['one'], diffs=['left', 'a'])
    assert set(outs) == {'b', 'c', 'one'} and set(diffs) == {'x', 'left', 'a'}
    for name in outs: assert close(outs[name], getattr(right, name)), name
    for name in diffs: assert close(diffs[name], getattr(right, 'd' + name)), name
    assert close(net.params['one'][0].diff, right.dw1) and close(net.params['two'][0].diff, right.dw2)
    assert close(net.params['two'][1].diff, db.sum(0))


def test_gradients_of_weights_are_cleared(net, draws):
    x, db, dc = draws.normal(size=(4, 3)), draws.normal(size=(4, 2)), draws.normal(size=(4, 3))
    right = Right(net, x).back(db, dc)
    diff = net.params['one'][0].diff
    for times in (1, 2, 3):
        net.forward(x=x)
        net.backward(b=db, c=dc)
        assert close(diff, times * right.dw1)
    net.params['two'][1].diff[...] = 7
    net.clear_param_diffs()
    for blobs in net.params.values():
        for blob in blobs: assert not blob.diff.any()
    assert not diff.any() and close(net.blobs['x'].diff, right.dx)
    net.backward(b=db, c=dc)
    assert close(diff, right.dw1) and close(net.params['two'][1].diff, db.sum(0))


def test_shared_weights(net, draws):
    x = draws.normal(size=(4, 3))
    other = caffe.Net('net', caffe.TRAIN)
    net.params['two'][0].data[...] = 1
    assert not close(other.forward(x=x)['b'], net.forward(x=x)['b'])
    other.share_with(net)
    assert close(other.forward(x=x)['b'], Right(net, x).b)
    for one, two in ((net, other), (other, net)):
        one.params['one'][0].data[...] = draws.normal(size=(5, 3))
        assert np.array_equal(two.params['one'][0].data, one.params['one'][0].data)
        assert close(two.forward(x=x)['c'], Right(one, x).c)
    net.clear_param_diffs()
    other.backward(b=np.ones((4, 2)), c=np.ones((4, 3)))
    assert other.params['two'][1].diff.any() and not net.params['two'][1].diff.any()


# Callbacks

def recorded(net):
    told = []
    for method in ('before_forward', 'after_forward', 'before_backward', 'after_backward'):
        getattr(net, method)(lambda index, method=method: told.append((method, index)))
    return told


def pairs(what, indices):
    return [(when + what, index) for index in indices for when in ('before_', 'after_')]


def test_callbacks_are_called_with_each_layer(net, draws):
    x, db, dc = draws.normal(size=(4, 3)), draws.normal(size=(4, 2)), draws.normal(size=(4, 3))
    right, told = Right(net, x).back(db, dc), recorded(net)
    out = net.forward(x=x)
    assert told == pairs('forward', range(6)) and close(out['b'], right.b) and close(out['c'], right.c)
    del told[:]
    assert close(net.backward(b=db, c=dc)['x'], right.dx) and close(net.params['one'][0].diff, right.dw1)
    assert told == pairs('backward', range(5, -1, -1))
    for run, what, indices in ((lambda: net.forward(start='relu', end='two'), 'forward', (2, 3, 4)),
                               (lambda: net._forward(1, 1), 'forward', (1,)),
                               (lambda: net.backward(start='cut', end='one'), 'backward', (3, 2, 1)),
                               (lambda: net._backward(2, 2), 'backward', (2,))):
        del told[:]
        run()
        assert told == pairs(what, indices)


def test_callbacks_see_and_change_values(net, draws):
    x = draws.normal(size=(4, 3))
    right, seen = Right(net, x), {}

    def before(index):
        if net._layer_names[index] == 'two': net.blobs['left'].data[...] = 1

    def after(index):
        name = net._layer_names[index]
        seen[name] = {top: net.blobs[top].data.copy() for top in net.top_names[name]}
        if name == 'relu': net.blobs['a'].data[...] += 1
        if name == 'in': net.params['two'][1].data[...] = 3

    net.before_forward(before)
    net.after_forward(after)
    net.blobs['x'].data[...] = x
    out = net.forward()
    assert close(seen['in']['x'], x) and close(seen['one']['a'], right.before) and close(seen['relu']['a'], right.a)
    assert close(seen['cut']['one'], right.one + 1) and close(out['c'], 2 * (right.one + 1))
    assert close(out['b'], np.tile(right.w2.sum(1) + 3, (4, 1)))
    net.before_backward(lambda index: net.blobs['one'].diff.fill(0) if net._layer_names[index] == 'cut' else None)
    assert close(net.backward(b=np.zeros((4, 2)), c=np.ones((4, 3)))['x'], np.zeros((4, 3)))


def test_an_error_in_a_callback_ends_the_pass(net):
    def fail(index):
        if index == 2: raise ZeroDivisionError
    net.before_forward(fail)
    net.blobs['x'].data[...] = 1
    with pytest.raises(ZeroDivisionError): net.forward()
    assert net.blobs['a'].data.any() and not net.blobs['b'].data.any()


# Crops of images

def crops_of(image, height, width):
    bottom, right = image.shape[0] - height, image.shape[1] - width
    places = [(0, 0), (0, right), (bottom, 0), (bottom, right), (bottom // 2, right // 2)]
    cut = [image[y:y + height, x:x + width] for y, x in places]
    return cut + [each[:, ::-1] for each in cut]


@pytest.mark.parametrize('size, crop', [((7, 12), (4, 6)), ((12, 7), (5, 7)), ((5, 9), (5, 4)), ((6, 4), (6, 4)),
                                        ((9, 8), np.array([2, 5]))])
def test_crops_of_sides_that_differ(draws, size, crop):
    images = draws.random((2,) + size + (3,)).astype(np.float32)
    right = [each for image in images for each in crops_of(image, *crop)]
    seen = caffe.io.oversample(images, crop)
    assert seen.dtype == np.float32 and np.array_equal(seen, right)
    assert np.array_equal(caffe.io.oversample(list(images), list(crop)), right)


@pytest.mark.parametrize('dims', [(7, 12), [9, 6], np.array([4, 6]), None])
def test_classifier_of_sides_that_differ(folder, draws, dims):
    """The scores are those of the crops, one by one."""
    (folder / 'net').write_text(
        layer('in', 'Input', '', 'data', 'input_param { shape { dim: 10 dim: 3 dim: 4 dim: 6 } }') +
        layer('fc', 'InnerProduct', 'data', 'fc', 'inner_product_param { num_output: 3 %s }' % FILLED))
    caffe.Net('net', caffe.TEST).save('w')
    mean = draws.normal(size=3)
    classifier = caffe.Classifier('net', 'w', image_dims=dims, mean=mean, raw_scale=4, input_scale=0.5,
                                  channel_swap=(2, 0, 1))
    w, b = (blob.data for blob in classifier.params['fc'])
    images = [draws.random((8, 5, 3)).astype(np.float32), draws.random((4, 13, 3)).astype(np.float32)]
    height, width = (4, 6) if dims is None else dims

    def scores(crop):
        blob = ((crop[:, :, [2, 0, 1]] * 4 - mean) * 0.5).transpose(2, 0, 1)
        return w @ blob.ravel() + b
    ready = [caffe.io.resize_image(image, (height, width)) for image in images]
    ten = [np.mean([scores(crop) for crop in crops_of(image, 4, 6)], 0) for image in ready]
    assert close(classifier.predict(images), ten)
    centres = [scores(crops_of(image, 4, 6)[4]) for image in ready]
    assert close(classifier.predict(images, oversample=False), centres)
