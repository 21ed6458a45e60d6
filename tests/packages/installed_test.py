"""Installed files work: the program, its manual, its helpers, the Python modules."""
import glob, gzip, os, pathlib

import pytest


@pytest.fixture(scope='module')
def has_modules(build):
    """Whether the Python modules were built."""
    return bool(glob.glob(build + '/python/cortado/*.so'))


@pytest.fixture(scope='module')
def there(build, has_modules, run, training_folder):
    """The folder of the installation. The current folder has a net and its data."""
    place = training_folder(iters=4, snapshot=4, test_interval=100)
    there = pathlib.Path(place.path('there'))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.name)
        for component in ['program', 'extras'] + ['python'] * has_modules:
            run('--install', build, '--prefix', there, '--component', component, program='cmake')
        yield there


@pytest.fixture(scope='module')
def installed(run, there):
    """installed('check', 'net.prototxt') runs the installed program."""
    return lambda *arguments: run(*arguments, program=str(there / 'bin/cortado')).stdout


@pytest.fixture(scope='module')
def weights(installed):
    """The snapshot of a training by the installed program."""
    installed('train', '--solver=solver.prototxt')
    return 'snap_iter_4.caffemodel'


def test_program_prints_its_version(installed):
    assert installed('--version').startswith('cortado ')


def test_programs_have_the_names_of_caffe(run, there):
    names = there / 'lib/cortado/caffe-names'
    assert min(os.listdir(names)) == 'caffe'
    run('time', '-model', 'net.prototxt', '-iterations', '1', program=str(names / 'caffe'))


@pytest.mark.parametrize('page', ['cortado', 'cortado-train', 'cortado-help'])
def test_manual_has_the_page(there, page):
    assert gzip.open(there / ('share/man/man1/%s.1.gz' % page), 'rt').read().startswith('.TH')


def test_shells_complete_commands(there):
    assert 'cortado' in (there / 'share/bash-completion/completions/cortado').read_text()
    assert (there / 'share/zsh/vendor-completions/_cortado').read_text().startswith('#compdef')


def test_new_net_starts_from_an_installed_model(installed):
    installed('data', 'split', 'train_lmdb', '-o', 'data')
    installed('new', 'classifier', '--data=data', '--from=resnet18', '-o', 'my')
    assert 'num_output: 4 ' in pathlib.Path('my/train_val.prototxt').read_text()


def test_program_finds_its_helper_for_hdf5(helper, installed, weights):
    helper('cortado-hdf5')
    installed('convert', 'weights', weights, 'weights.h5')
    assert os.path.getsize('weights.h5') > 0


LOOKS = '''
import caffe, cortado
from cortado import program
assert cortado.__file__.startswith(%r), cortado.__file__
assert program.path() == %r, program.path()
net = caffe.Net('net.prototxt', %r, caffe.TEST)
net.forward()
net.save('again.h5')
'''


def test_modules_for_python_find_the_program(has_modules, run, there, weights):
    if not has_modules: pytest.skip('built without the Python modules')
    run('-c', LOOKS % (str(there), str(there / 'lib/cortado/cortado'), weights), program='/usr/bin/python3',
        env=dict(os.environ, PYTHONPATH=str(there / 'lib/python3/dist-packages')))
