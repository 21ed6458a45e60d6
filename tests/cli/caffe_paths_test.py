"""The build folder has Caffe's programs at the paths from which Caffe's scripts call them."""
import os

import pytest

PATHS = {'tools': ['caffe', 'convert_imageset', 'compute_image_mean', 'extract_features', 'upgrade_net_proto_text',
                   'upgrade_net_proto_binary', 'upgrade_solver_proto_text'],
         'examples/mnist': ['convert_mnist_data'], 'examples/cifar10': ['convert_cifar_data'],
         'examples/cpp_classification': ['classification']}
RETIRED = ['train_net', 'finetune_net', 'test_net', 'net_speed_benchmark', 'device_query']


@pytest.mark.parametrize('ending', ['', '.bin'])
def test_programs_are_where_scripts_call_them(run, ending):
    build = os.environ['CORTADO_BUILD']
    for folder, names in PATHS.items():
        for name in names:
            done = run('--help', program='%s/%s/%s%s' % (build, folder, name, ending))
            assert done.stdout.startswith('usage: cortado') or 'usage:' in done.stdout, name
    for name in RETIRED:
        assert 'was removed' in run(program='%s/tools/%s%s' % (build, name, ending), code=2).stderr
