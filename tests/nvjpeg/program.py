#!/usr/bin/python3
"""--decode as a user has it: a training on the simulated device whose JPEGs the device decodes learns the same weights,
commands say who decoded, and what cannot be is an error that says why.

    program.py CORTADO FOLDER        FOLDER: where the library lies that the simulated device has in nvJPEG's place
"""
import json, os, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli'))
import fixtures

NET = '''layer { name: "data" type: "Data" top: "data" top: "label" transform_param { crop_size: 20 mirror: true }
  data_param { source: "set" batch_size: 8 backend: LMDB shuffle: true } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
'''
SOLVER = 'net: "net.prototxt" base_lr: 1e-5 lr_policy: "fixed" max_iter: 6 snapshot_prefix: "%s" random_seed: 3'


def run(exe, words, library=None, code=0):
    env = dict(os.environ, LD_LIBRARY_PATH=library or '')
    done = subprocess.run([exe, *words], capture_output=True, text=True, env=env)
    assert done.returncode == code, (words, done.returncode, done.stderr[-2000:])
    return done.stdout, done.stderr


def make_set(exe):
    for label in range(3):
        os.makedirs('photos/%d' % label)
        for i in range(8):
            fixtures.ppm('photos/%d/%d.ppm' % (label, i), h=24 + i, w=30, color=(20 * i, 80 * label, 200 - 9 * i))
    run(exe, ['convert', 'folder', 'photos', '-o', 'set', '--encode-type=jpg'])


def train(exe, library, decode):
    with open('%s.prototxt' % decode, 'w') as file:
        file.write(SOLVER % decode)
    _, log = run(exe, ['train', '--solver=%s.prototxt' % decode, '--gpu=simulated', '--decode=' + decode], library)
    with open('%s_iter_6.caffemodel' % decode, 'rb') as file:
        return file.read(), log


def main():
    exe, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_set(exe)
        with open('net.prototxt', 'w') as file:
            file.write(NET)
        (ours, silent), (theirs, told) = train(exe, library, 'cpu'), train(exe, library, 'gpu')
        assert ours == theirs, 'the weights differ'
        assert 'decoded by nvJPEG 13.0' in told and 'nvJPEG' not in silent, told

        bench = ['data', 'bench', 'net.prototxt', '--seconds=0.1', '--gpu=simulated']
        text, _ = run(exe, bench + ['--decode=auto'], library)
        assert 'decoded by nvJPEG 13.0, kernels' in text, text
        report = json.loads(run(exe, bench + ['--decode=gpu', '--json'], library)[0])
        assert report['jpegs_by'].startswith('nvJPEG') and report['decoded_on_device'] > 0, report

        _, told = run(exe, bench + ['--decode=gpu'], code=6)
        assert 'libcortado_simulated_nvjpeg.so cannot be used' in told and 'hint:' in told, told
        text, told = run(exe, bench + ['--decode=auto'])
        assert 'decoded by libjpeg-turbo: libcortado_simulated_nvjpeg.so cannot be used' in told, told
        _, told = run(exe, bench[:-1] + ['--decode=gpu'], code=2)
        assert '--decode=gpu: this runs on the CPU' in told, told


main()
