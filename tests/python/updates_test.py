"""Trainings that scripts run step by step: accumulated gradients, manual updates, snapshot prefixes."""
import numpy as np
import pytest

from tests.python.built_module import use_built_module

use_built_module()
import caffe, cortado

NET = '''layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param { shape { dim: 6 dim: 5 }
  shape { dim: 6 } data_filler { type: "constant" value: 0.5 } data_filler { type: "constant" value: 1 } } }
layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc" inner_product_param { num_output: 4
  weight_filler { type: "xavier" } } }
layer { name: "drop" type: "Dropout" bottom: "fc" top: "fc" }
layer { name: "ip" type: "InnerProduct" bottom: "fc" top: "ip" inner_product_param { num_output: 3
  weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
SOLVER = 'net: "net" base_lr: 0.1 lr_policy: "step" gamma: 0.5 stepsize: 3 max_iter: 9 random_seed: 1 '
PREFIX = 'snapshot_prefix: "snap" '


@pytest.fixture
def make(folder):
    """make('snapshot: 5') is a solver with these additional fields."""
    def make(more='', net=NET, prefix=PREFIX):
        (folder / 'net').write_text(net)
        (folder / 'solver').write_text(SOLVER + prefix + more)
        return caffe.get_solver('solver')
    return make


def weights(net): return [blob.data.copy() for blobs in net.params.values() for blob in blobs]


def gradients(net): return [blob.diff.copy() for blobs in net.params.values() for blob in blobs]


def alike(some, others, factor=1):
    return all(np.allclose(a, factor * b, atol=1e-6) for a, b in zip(some, others))


def test_gradients_accumulate_until_they_are_cleared(make):
    net = make().net
    net.forward()
    net.backward()
    once = gradients(net)
    net.backward()
    assert all(each.any() for each in once) and alike(gradients(net), once, 2)
    net.params['ip'][0].diff[...] = 1
    net.backward()
    assert np.allclose(net.params['ip'][0].diff, 1 + once[2], atol=1e-6)
    net.clear_param_diffs()
    net.backward()
    assert alike(gradients(net), once)


def test_iteration_begins_without_the_gradients_before_it(make):
    plain, other = make(), make()
    plain.step(3)
    for _ in range(3):
        other.net.forward()
        other.net.backward()
        other.step(1)
    assert all(np.array_equal(a, b) for a, b in zip(weights(plain.net), weights(other.net)))


@pytest.mark.parametrize('more', [
    '', 'type: "Adam" delta: 1e-8', 'iter_size: 2', 'momentum: 0.9 weight_decay: 0.01 clip_gradients: 0.5',
    'ema_decay: 0.5', 'type: "AdaGrad"'])
def test_manual_updates_equal_those_of_steps(make, more):
    net = NET.replace('type: "Dropout"', 'type: "TanH"')  # random draws depend on the iteration
    stepped, own = make(more, net), make(more, net)
    losses = []
    for i in range(5):
        stepped.step(1)
        own.net.clear_param_diffs()
        for _ in range(own.param.iter_size): losses.append(float(own.net.forward()['loss']))
        for _ in range(own.param.iter_size): own.net.backward()
        own.apply_update()
        assert own.iter == stepped.iter == i + 1 and own.lr == stepped.lr
        assert alike(weights(own.net), weights(stepped.net)), i
    assert losses[-1] < losses[0]


def test_update_takes_gradients_that_the_script_set(make):
    solver = make()
    before = weights(solver.net)
    for blobs in solver.net.params.values():
        for blob in blobs: blob.diff[...] = 2
    solver.apply_update()
    assert all(np.allclose(b - a, 0.2, atol=1e-6) for a, b in zip(weights(solver.net), before))


def test_manual_passes_use_new_random_draws(make):
    net = make().net
    dropped = []
    for _ in range(4):
        net.forward()
        dropped.append((net.blobs['fc'].data == 0).tobytes())
    assert len(set(dropped)) > 1


def test_solver_is_made_again_after_it_was_deleted(make):
    solver = make('snapshot: 2')
    solver.step(2)
    solver = None
    solver = make('snapshot: 2')
    solver.step(2)
    assert solver.iter == 2


def test_two_solvers_of_one_prefix(make, folder, capfd):
    one, two = make('snapshot: 3'), make('snapshot: 3')
    one.step(4)
    two.step(2)
    two.net.params['ip'][1].data[...] = 7
    two.snapshot()
    assert 'another training in this process' in capfd.readouterr().err
    assert (folder / 'snap_iter_2.caffemodel').exists()
    one.snapshot()
    again = make()
    again.restore('snap_iter_2.solverstate')
    assert (again.net.params['ip'][1].data == 7).all() and again.iter == 2


def test_prefix_is_one_process_s_from_the_first_snapshot_on(make, run, folder):
    solver = make()
    run('train', '--solver=solver')
    solver.snapshot()
    assert 'another training writes snapshots of snap' in run('train', '--solver=solver', code=5).stderr
    solver._solver.close()
    run('train', '--solver=solver')


def test_unwritable_snapshot_folder_is_an_error_at_once(make, folder):
    (folder / 'file').write_text('')
    with pytest.raises(RuntimeError, match='file'): make(prefix='snapshot_prefix: "file/snap"')


@pytest.mark.parametrize('more', ('', 'momentum: 0.9 weight_decay: 0.1', 'iter_size: 2 momentum: 0.9', 'type: "Adam"'))
def test_diff_after_an_update_is_what_it_subtracted(make, more):
    """As in Caffe: of step() and of apply_update()."""
    net = NET.replace('type: "Dropout"', 'type: "TanH"')
    solver, found = make(more, net), []
    solver.add_callback(lambda: None, lambda: found.append(gradients(solver.net)))
    momentum, decay = solver.param.momentum, solver.param.weight_decay
    history = [0 * each for each in weights(solver.net)]
    for _ in range(4):
        before = weights(solver.net)
        solver.step(1)
        updates = gradients(solver.net)
        assert all(each.any() for each in updates)
        assert alike([w - u for w, u in zip(before, updates)], weights(solver.net))
        if 'Adam' in more: continue
        history = [momentum * h + solver.lr * (g / solver.param.iter_size + decay * w)
                   for h, g, w in zip(history, found[-1], before)]
        assert alike(updates, history)
    before = weights(solver.net)
    for blobs in solver.net.params.values():
        for blob in blobs: blob.diff[...] = 2
    solver.apply_update()
    assert alike([w - u for w, u in zip(before, gradients(solver.net))], weights(solver.net))


def test_snapshots_have_the_update(make):
    solver = make('snapshot_diff: true snapshot: 2 momentum: 0.9')
    solver.step(2)
    snapshot = caffe.proto.caffe_pb2.NetParameter()
    with open('snap_iter_2.caffemodel', 'rb') as file: snapshot.ParseFromString(file.read())
    blobs = [np.array(blob.diff) for layer in snapshot.layer for blob in layer.blobs]
    assert len(blobs) == 4 and alike(blobs, [each.ravel() for each in gradients(solver.net)])


def test_a_solver_of_cortado_keeps_gradients(make):
    """Without keep_updates, those of the iteration."""
    make()
    for keeps in (False, True):
        with cortado.Solver('solver', observe=True, keep_updates=keeps) as solver:
            found = []
            solver.on_gradients(lambda: found.append(solver.net.param_gradient('ip', 0)))
            before = solver.net.param('ip', 0)
            solver.step(1)
            assert np.array_equal(solver.net.param_gradient('ip', 0), found[0]) != keeps
            if keeps: assert np.allclose(before - solver.net.param_gradient('ip', 0), solver.net.param('ip', 0))
