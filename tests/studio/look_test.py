"""`cortado-studio look`, which the studio runs as a child: nets whose outputs are not classes."""
import json, subprocess

import cv2, numpy, pytest

TRAINED = '''layer { name: "data" type: "DummyData" top: "data" top: "target"
  dummy_data_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } shape { dim: 1 dim: 2 dim: 8 dim: 8 } } }
layer { name: "map" type: "Convolution" bottom: "data" top: "map" convolution_param { num_output: 2 kernel_size: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "map" bottom: "target" top: "loss" }
'''
MAP = '''layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "map" type: "Convolution" bottom: "data" top: "map" convolution_param { num_output: 2 kernel_size: 1 } }
'''
SPLIT = MAP + 'layer { name: "power" type: "Power" bottom: "data" top: "other" }\n'


@pytest.fixture(scope='module')
def folder(cortado, tmp_path_factory):
    """A folder with weights and an image."""
    folder = tmp_path_factory.mktemp('look')
    (folder / 'train.prototxt').write_text(TRAINED)
    (folder / 'solver.prototxt').write_text('net: "train.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 1 '
                                            'snapshot_prefix: "net"\n')
    subprocess.run([cortado, 'train', 'solver.prototxt'], cwd=folder, check=True, capture_output=True)
    cv2.imwrite(str(folder / 'image.png'), numpy.full((8, 8, 3), 100, numpy.uint8))
    return folder


@pytest.mark.parametrize('net', [MAP, SPLIT])
def test_outputs_that_are_not_classes(build, folder, net):
    """The layers can be inspected all the same."""
    (folder / 'net.prototxt').write_text(net)
    words = ['look', '--model=net.prototxt', '--weights=net_iter_1.caffemodel', '--cpu', '--blob=map', 'image.png']
    done = subprocess.run([build + '/bin/cortado-studio', *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer['images'] == [{'size': [8, 8]}]
    assert answer['activations']['shape'] == [1, 2, 8, 8]
