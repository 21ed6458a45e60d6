"""A second request to stop while the snapshot of the first one is written: it says so, and the snapshot is kept."""
import glob, signal, subprocess, time

import pytest

from tests.harness.waiting import is_within, wait_until

NET = '''layer { name: "d" type: "DummyData" top: "x" top: "y" dummy_data_param { shape { dim: 1 dim: 4000 }
  shape { dim: 1 dim: 20000 } data_filler { type: "constant" value: 0.01 } data_filler { type: "constant" } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 20000 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
'''
SOLVER = '''net: "net.prototxt" base_lr: 1e-9 lr_policy: "fixed" momentum: 0.9 max_iter: 1000000 display: 1
snapshot_prefix: "s" random_seed: 1
'''


@pytest.fixture
def training(cortado, folder):
    """A training whose snapshots take 640 MB, after its first iterations."""
    (folder / 'net.prototxt').write_text(NET)
    (folder / 'solver.prototxt').write_text(SOLVER)
    log = open('log', 'w')
    process = subprocess.Popen([cortado, 'train', 'solver.prototxt'], stderr=log, stdin=subprocess.DEVNULL)
    wait_until(lambda: 'Iteration 1' in (folder / 'log').read_text(), 'the training runs', 60)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize('first, second', [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                                           (signal.SIGUSR1, signal.SIGINT)])
def test_second_signal_waits_for_the_snapshot(cortado, folder, training, first, second):
    training.send_signal(first)
    wait_until(lambda: glob.glob('s_iter_*.tmp.*'), 'the snapshot is being written', 60, every=0.001)
    training.send_signal(second)
    assert training.wait(60) == 128 + first
    log = (folder / 'log').read_text()
    assert 'the snapshot is being written; a third signal stops without it' in log, log[-2000:]
    state, = glob.glob('s_iter_*.solverstate')
    subprocess.run([cortado, 'snapshot', 'verify', 's'], check=True, stdout=subprocess.DEVNULL)


def test_third_signal_ends_it(folder, training):
    training.send_signal(signal.SIGTERM)
    wait_until(lambda: glob.glob('s_iter_*.tmp.*'), 'the snapshot is being written', 60, every=0.001)
    training.send_signal(signal.SIGTERM)
    wait_until(lambda: 'a third signal' in (folder / 'log').read_text(), 'it says so', 60, every=0.001)
    training.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    assert training.wait(60) == 143 and is_within(time.monotonic() - begun, 5)
