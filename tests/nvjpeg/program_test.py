"""--decode for users: a training on the simulated device that decodes JPEGs on the device learns the same weights,
commands report the decoder, and an unavailable decoder is an error with the reason."""
import json, pathlib

import pytest

from tests.cli import fixtures

NET = '''layer { name: "data" type: "Data" top: "data" top: "label" transform_param { crop_size: 20 mirror: true }
  data_param { source: "set" batch_size: 8 backend: LMDB shuffle: true } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
SOLVER = 'net: "net.prototxt" base_lr: 1e-5 lr_policy: "fixed" max_iter: 6 snapshot_prefix: "%s" random_seed: 3'


BENCH = ['data', 'bench', 'net.prototxt', '--seconds=0.1']


@pytest.fixture(scope='module', autouse=True)
def dataset(run, shared_folder):
    for label in range(3):
        (shared_folder / 'photos' / str(label)).mkdir(parents=True)
        for i in range(8):
            fixtures.ppm('photos/%d/%d.ppm' % (label, i), h=24 + i, w=30, color=(20 * i, 80 * label, 200 - 9 * i))
    run('convert', 'folder', 'photos', '-o', 'set', '--encode-type=jpg')
    (shared_folder / 'net.prototxt').write_text(NET)


@pytest.fixture
def nvjpeg(build, monkeypatch):
    """Makes the simulated device's replacement of nvJPEG available."""
    monkeypatch.setenv('LD_LIBRARY_PATH', build + '/tests/nvjpeg')


@pytest.fixture
def without_nvjpeg(monkeypatch):
    monkeypatch.setenv('LD_LIBRARY_PATH', '')


def train(run, decode):
    """Returns the weights and the log."""
    pathlib.Path('%s.prototxt' % decode).write_text(SOLVER % decode)
    log = run('train', '--solver=%s.prototxt' % decode, '--gpu=simulated', '--decode=' + decode).stderr
    return pathlib.Path('%s_iter_6.caffemodel' % decode).read_bytes(), log


def test_training_learns_the_same_weights(run, nvjpeg):
    (ours, silent), (theirs, told) = train(run, 'cpu'), train(run, 'gpu')
    assert ours == theirs, 'the weights differ'
    assert 'decoded by nvJPEG 13.0' in told and 'nvJPEG' not in silent


def test_data_bench_says_what_decodes(run, nvjpeg):
    assert 'decoded by nvJPEG 13.0, kernels' in run(*BENCH, '--gpu=simulated', '--decode=auto').stdout
    report = json.loads(run(*BENCH, '--gpu=simulated', '--decode=gpu', '--json').stdout)
    assert report['jpegs_by'].startswith('nvJPEG') and report['decoded_on_device'] > 0


def test_errors_say_why_the_device_cannot_decode(run, without_nvjpeg):
    told = run(*BENCH, '--gpu=simulated', '--decode=gpu', code=6).stderr
    assert 'libcortado_simulated_nvjpeg.so cannot be used' in told and 'hint:' in told
    told = run(*BENCH, '--decode=gpu', code=2).stderr
    assert '--decode=gpu: the net runs on the CPU' in told


def test_without_the_library_the_cpu_decodes(run, without_nvjpeg):
    done = run(*BENCH, '--gpu=simulated', '--decode=auto')
    assert 'decoded by libjpeg-turbo: libcortado_simulated_nvjpeg.so cannot be used' in done.stderr
