"""`cortado deploy` on every net of models/: the result has the layers, shapes and parameters of the handwritten
deploy net."""
import json, pathlib

import pytest

MODELS = pathlib.Path(__file__).resolve().parents[2] / 'models'
NETS = sorted(path.name for path in MODELS.iterdir() if path.is_dir())
SHAPES = {'lenet': '1,1,28,28', 'vit_tiny': '1,1,28,28', 'cifar10_quick': '1,3,32,32', 'cifar10_full': '1,3,32,32'}


def layers(run, net):
    report = json.loads(run('summary', net, '--phase=TEST', '--json').stdout)
    return [{key: value for key, value in layer.items() if key != 'place'} for layer in report['layers']]


def test_there_are_models():
    assert len(NETS) >= 13


# Two deploy nets differ: that of ssd_fashion keeps the layers that score detections, that of crnn_digits decodes the
# scores.
@pytest.mark.parametrize('name', sorted(set(NETS) - {'ssd_fashion', 'crnn_digits'}))
def test_deploy_net_equals_the_handwritten_one(run, folder, name):
    trained, shape = MODELS / name / 'train_val.prototxt', []
    if name in SHAPES:  # without crop, dataset and mean file
        assert '--shape=1,' in run('deploy', trained, '-o', 'made.prototxt', code=2).stderr
        assert not (folder / 'made.prototxt').exists()
        shape = ['--shape=' + SHAPES[name]]
    run('deploy', trained, '-o', 'made.prototxt', *shape)
    run('check', 'made.prototxt')
    assert layers(run, 'made.prototxt') == layers(run, MODELS / name / 'deploy.prototxt')
    text = (folder / 'made.prototxt').read_text()
    for word in ('filler', 'lr_mult', 'phase', 'label"'): assert word not in text
