"""Arrays that a script took before a call, and changed: the call reads the changes, loses none, and leaves the net's
values in them. The right values are computed with numpy."""
import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe
from caffe.proto import caffe_pb2

FILLED = 'weight_filler { type: "gaussian" std: 1 } bias_filler { type: "gaussian" std: 1 }'
INPUT = 'layer { name: "in" type: "Input" top: "x" top: "t" ' \
    'input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }\n'
PRODUCT = 'layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" ' \
    'inner_product_param { num_output: 2 %s } }\n' % FILLED
CHAIN = 'force_backward: true\n' + INPUT + PRODUCT + \
    'layer { name: "twice" type: "Power" bottom: "y" top: "z" power_param { scale: 2 } }\n' \
    'layer { name: "joined" type: "Concat" bottom: "z" bottom: "t" top: "j" }\n'
LOSS = INPUT + PRODUCT + 'layer { name: "loss" type: "EuclideanLoss" bottom: "y" bottom: "t" top: "loss" }\n'
RATE, MOMENTUM, DECAY = 0.1, 0.9, 0.01
SOLVER = ('net: "net" type: "SGD" base_lr: %g momentum: %g weight_decay: %g lr_policy: "fixed" max_iter: 5 '
          'test_iter: 1 test_interval: 100 snapshot_prefix: "snap" random_seed: 1' % (RATE, MOMENTUM, DECAY))


@pytest.fixture
def draws(): return np.random.default_rng(1)


@pytest.fixture
def chain(folder):
    """Makes nets of CHAIN."""
    (folder / 'chain').write_text(CHAIN)
    return lambda: caffe.Net('chain', caffe.TEST)


@pytest.fixture
def solver(folder, draws):
    (folder / 'net').write_text(LOSS)
    (folder / 'solver').write_text(SOLVER)
    solver = caffe.get_solver('solver')
    for net in (solver.net, solver.test_nets[0]):
        for name in ('x', 't'): net.blobs[name].data[...] = draws.normal(size=net.blobs[name].shape)
    yield solver
    solver._solver.close()


def close(seen, right): return np.shape(seen) == np.shape(right) and np.allclose(seen, right, rtol=1e-4, atol=1e-5)


def same_bits(one, other): return np.array_equal(one.view(np.uint32), other.view(np.uint32))


def arrays_of(net):
    """The arrays of all blobs and weights, by name."""
    arrays = {}
    for name, blob in net.blobs.items(): arrays[name], arrays['d' + name] = blob.data, blob.diff
    for name, blobs in net.params.items():
        for index, blob in enumerate(blobs):
            arrays['%s[%d]' % (name, index)], arrays['d%s[%d]' % (name, index)] = blob.data, blob.diff
    return arrays


def values_in(net):
    """What the net itself has."""
    inner = net._net
    values = {name: inner.blob(name) for name in net.blobs}
    values.update(('d' + name, inner.gradient(name)) for name in net.blobs)
    for name, blobs in net.params.items():
        for index in range(len(blobs)):
            values['%s[%d]' % (name, index)] = inner.param(name, index)
            values['d%s[%d]' % (name, index)] = inner.param_gradient(name, index)
    return values


def copies(arrays): return {name: array.copy() for name, array in arrays.items()}


# Bits

def bits(*words): return np.array(words, np.uint32).view(np.float32)


CHANGES = {  # two arrays whose bits differ, and nearly or entirely nothing else
    'to -0': (bits(0, 0, 0), bits(0, 1 << 31, 0)), 'from -0': (bits(0, 1 << 31, 0), bits(0, 0, 0)),
    'to NaN': (bits(0, 0, 0), bits(0, 0x7fc00000, 0)), 'from NaN': (bits(0, 0, 0x7fc00000), bits(0, 0, 0)),
    'another NaN': (bits(0, 0x7fc00000, 0), bits(0, 0x7fc00123, 0)),
    'a negative NaN': (bits(0x7fc00000, 0, 0), bits(0xffc00000, 0, 0)),
    '-0 and NaN': (bits(0, 0x7fc00000, 0), bits(1 << 31, 0x7fc00000, 0)),
    'last bit': (bits(0, 0, 0x3f800000), bits(0, 0, 0x3f800001)), 'smallest': (bits(0, 0, 0), bits(0, 1, 0)),
    'infinity': (bits(0x7f800000, 0, 0), bits(0xff800000, 0, 0))}


@pytest.mark.parametrize('change', CHANGES)
def test_each_bit_that_is_written_arrives(chain, change):
    net = chain()
    arrays = arrays_of(net)
    for written in CHANGES[change]:
        for name, array in arrays.items(): array.flat = np.resize(written, array.size)
        net.reshape()  # writes the arrays to the net
        for name, value in values_in(net).items(): assert same_bits(value, np.resize(written, value.shape)), name
    z, t, dj = (np.resize(written, net.blobs[name].shape) for name in 'ztj')
    assert same_bits(net.forward(start='joined')['j'], np.hstack([z, t]))
    net.blobs['j'].diff[...] = dj
    net.backward(start='joined', end='joined')
    assert same_bits(net.blobs['z'].diff, np.ascontiguousarray(dj[:, :2]))
    weights = {index: np.resize(written, blob.shape) for index, blob in enumerate(net.params['ip'])}
    net.save('w')
    with open('w', 'rb') as file: saved = caffe_pb2.NetParameter.FromString(file.read())
    [blobs] = [layer.blobs for layer in saved.layer if layer.name == 'ip']
    net.save_hdf5('w.h5')
    for file in ('w', 'w.h5'):
        again = chain()
        again.copy_from(file)
        for index, right in weights.items(): assert same_bits(again.params['ip'][index].data, right), file
    for index, right in weights.items():
        assert same_bits(np.array(blobs[index].data, np.float32).reshape(right.shape), right)


# Calls

def chained(of):
    """The values of the layers of CHAIN from the others, by layer."""
    y = of['x'] @ of['ip[0]'].T + of['ip[1]']
    return {'ip': dict(y=y), 'twice': dict(z=2 * of['y']), 'joined': dict(j=np.hstack([of['z'], of['t']]))}


def chained_back(of):
    """The gradients of the layers of CHAIN from the others, by layer."""
    return {'joined': dict(dz=of['dj'][:, :2], dt=of['dj'][:, 2:]), 'twice': dict(dy=2 * of['dz']),
            'ip': {'dx': of['dy'] @ of['ip[0]'], 'dip[0]': of['dip[0]'] + of['dy'].T @ of['x'],
                   'dip[1]': of['dip[1]'] + of['dy'].sum(0)}}


def cleared(of): return {name: 0 * array for name, array in of.items() if name.startswith('dip')}


CALLS = {  # what a call does to (net, other), and what it changes, given all values: nothing else may change
    'clear_param_diffs': (lambda net, other: net.clear_param_diffs(), lambda other, of: cleared(of)),
    'reshape': (lambda net, other: net.reshape(), lambda other, of: {}),
    'save': (lambda net, other: net.save('a'), lambda other, of: {}),
    'save_hdf5': (lambda net, other: net.save_hdf5('b'), lambda other, of: {}),
    'copy_from': (lambda net, other: net.copy_from('w'), lambda other, of: {'ip[0]': 5 + 0 * of['ip[0]'],
                                                                           'ip[1]': 6 + 0 * of['ip[1]']}),
    'share_with': (lambda net, other: net.share_with(other), lambda other, of: {
        'ip[0]': other['ip[0]'], 'ip[1]': other['ip[1]']}),
    'lends weights': (lambda net, other: other.share_with(net), lambda other, of: {})}
for each in ('ip', 'twice', 'joined'):
    CALLS['forward ' + each] = (lambda net, other, each=each: net.forward(start=each, end=each),
                                lambda other, of, each=each: chained(of)[each])
    CALLS['backward ' + each] = (lambda net, other, each=each: net.backward(start=each, end=each),
                                 lambda other, of, each=each: chained_back(of)[each])


@pytest.mark.parametrize('call', CALLS)
def test_calls_keep_what_the_script_wrote(chain, draws, call):
    """Of all arrays, before the call and after it, in the script and in the net."""
    run, changed = CALLS[call]
    net, other = chain(), chain()
    for blob, value in zip(other.params['ip'], (5, 6)): blob.data[...] = value
    other.save('w')
    for each in (net, other): each.forward()
    arrays, others = arrays_of(net), arrays_of(other)
    for _ in range(2):
        for each in (arrays, others):
            for array in each.values(): array[...] = draws.normal(size=array.shape)
        wanted = copies(arrays)
        wanted.update(changed(copies(others), copies(arrays)))
        wanted_of_other = copies(others)
        run(net, other)
        seen = arrays_of(net)
        for name, right in wanted.items():
            assert close(seen[name], right), name
            assert close(values_in(net)[name], right), name
            # Sharing weights detaches the arrays that were taken before.
            if call != 'share_with' or not name.startswith('ip'): assert arrays[name] is seen[name], name
        if call == 'lends weights': wanted_of_other.update({'ip[0]': wanted['ip[0]'], 'ip[1]': wanted['ip[1]']})
        for name, right in wanted_of_other.items(): assert close(arrays_of(other)[name], right), name
        arrays, others = seen, arrays_of(other)


# Callbacks of a net

def test_callbacks_of_a_net_see_and_change_arrays_taken_before(chain, draws):
    """Before and after each layer all arrays have what the layers so far computed. What a callback writes, the layers
    after it read."""
    net = chain()
    arrays, names = arrays_of(net), list(net._layer_names)
    for name in ('x', 't', 'dj'): arrays[name][...] = draws.normal(size=arrays[name].shape)
    now, told = copies(arrays), []

    def seen(when, index, result=None):
        told.append((when, names[index]))
        if result: now.update(result(now).get(names[index], {}))
        for name, right in now.items():
            assert close(arrays[name], right), (when, names[index], name)
            if name in ('x', 't') and names[index] == 'in': continue
            arrays[name] += 0.5
            now[name] = right + 0.5

    net.before_forward(lambda index: seen('before forward', index))
    net.after_forward(lambda index: seen('after forward', index, chained))
    net.before_backward(lambda index: seen('before backward', index))
    net.after_backward(lambda index: seen('after backward', index, chained_back))
    for _ in range(2):
        net.forward()
        net.backward()
    forward = [(when + ' forward', name) for name in names for when in ('before', 'after')]
    backward = [(when + ' backward', name) for name in names[::-1] for when in ('before', 'after')]
    assert told == 2 * (forward + backward)
    for name, value in values_in(net).items(): assert close(arrays[name], now[name]), name


# Trainings

class Right:
    """The training of LOSS in numpy."""

    def __init__(self, net):
        self.x, self.t = (net.blobs[name].data.copy() for name in 'xt')
        self.w = [blob.data.copy() for blob in net.params['ip']]
        self.v = [0 * w for w in self.w]

    def passes(self):
        self.y = self.x @ self.w[0].T + self.w[1]
        self.dy = (self.y - self.t) / len(self.x)
        self.loss = ((self.y - self.t)**2).sum() / 2 / len(self.x)
        self.g = [self.dy.T @ self.x, self.dy.sum(0)]

    def update(self):
        self.v = [MOMENTUM * v + RATE * (g + DECAY * w) for v, g, w in zip(self.v, self.g, self.w)]
        self.w = [w - v for w, v in zip(self.w, self.v)]

    def arrays(self, diffs):
        return {'x': self.x, 't': self.t, 'y': self.y, 'dy': self.dy, 'loss': self.loss, 'ip[0]': self.w[0],
                'ip[1]': self.w[1], 'dip[0]': diffs[0], 'dip[1]': diffs[1]}


def check(seen, right):
    for name, value in right.items(): assert close(seen[name], value), name


@pytest.mark.parametrize('held', (True, False))
@pytest.mark.parametrize('called', (True, False))
def test_steps_leave_the_values_of_their_last_iteration(solver, draws, held, called):
    net, right = solver.net, Right(solver.net)
    arrays = arrays_of(net) if held else None
    if called: solver.add_callback(lambda: None, lambda: None)
    for steps in (1, 1, 3, 2):
        solver.step(steps)
        for _ in range(steps):
            right.passes()
            right.update()
        check(arrays if held else arrays_of(net), right.arrays(right.v))
        test_net = Right(solver.test_nets[0])
        test_net.w = right.w
        test_net.passes()
        assert close(solver.test_nets[0].forward()['loss'], test_net.loss)
        for name in ('x', 't'):  # the next step reads what the script wrote
            setattr(right, name, draws.normal(size=net.blobs[name].shape))
            net.blobs[name].data[...] = getattr(right, name)
        right.w[1] = right.w[1] + 1
        net.params['ip'][1].data[...] += 1


@pytest.mark.parametrize('held', (True, False))
def test_solve_leaves_the_values_of_its_last_iteration(solver, held):
    net, right = solver.net, Right(solver.net)
    arrays = arrays_of(net) if held else None
    net.params['ip'][1].data[...] += 1
    right.w[1] = right.w[1] + 1
    solver.solve()
    assert solver.iter == 5
    for _ in range(5):
        right.passes()
        right.update()
    last = right.arrays(right.v)
    right.passes()  # the loss after the last update
    last.update(y=right.y, loss=right.loss)
    check(arrays if held else arrays_of(net), last)
    again = caffe.Net('net', 'snap_iter_5.caffemodel', caffe.TEST)
    for blob, w in zip(again.params['ip'], right.w): assert close(blob.data, w)


@pytest.mark.parametrize('held', (True, False))
def test_callbacks_of_a_solver_see_and_change_its_iteration(solver, draws, held):
    """The first callback of both kinds changes arrays; the second sees it, and the training goes on with it."""
    net, right = solver.net, Right(solver.net)
    kept, told = arrays_of(net) if held else None, []

    def arrays(): return kept if held else arrays_of(net)

    def start(last):
        told.append('start')
        if len(told) > 2: check(arrays(), right.arrays(right.v))
        if last: return
        for name in ('x', 't'):
            setattr(right, name, draws.normal(size=net.blobs[name].shape))
            arrays()[name][...] = getattr(right, name)
        right.w[0] = right.w[0] * 1.5
        arrays()['ip[0]'][...] *= 1.5

    def ready(last):
        told.append('ready')
        if not last: right.passes()
        check(arrays(), right.arrays(right.g))
        if last: return
        right.g = [g + 0.25 for g in right.g]
        for name in ('dip[0]', 'dip[1]'): arrays()[name][...] += 0.25

    for last in (False, True):
        solver.add_callback(lambda last=last: start(last), lambda last=last: ready(last))
    for steps in (1, 3):
        for _ in range(steps):
            solver.step(1)
            right.update()
            check(arrays(), right.arrays(right.v))
    assert told == 4 * ['start', 'start', 'ready', 'ready']


def test_updates_and_snapshots_take_what_the_script_wrote(solver):
    net, right = solver.net, Right(solver.net)
    arrays = arrays_of(net)
    for iteration in range(3):
        net.clear_param_diffs()
        net.forward()
        net.backward()
        right.passes()
        check(arrays, right.arrays(right.g))
        arrays['dip[0]'][...] *= 3
        right.g[0] = right.g[0] * 3
        solver.apply_update()
        right.update()
        check(arrays, right.arrays(right.v))
    arrays['ip[1]'][...] = 7
    solver.snapshot()
    saved = caffe.Net('net', 'snap_iter_3.caffemodel', caffe.TEST)
    assert close(saved.params['ip'][0].data, right.w[0]) and (saved.params['ip'][1].data == 7).all()
    check(arrays, dict(right.arrays(right.v), **{'ip[1]': np.full(2, 7)}))
