"""The targets follow from the current options, not from what an earlier configuration found or left out."""
import re, subprocess

import pytest

# CMake packages that `scripts/install_deps.sh quickstart` does not install.
ABSENT = ['GTest', 'OpenCV', 'Boost', 'pybind11', 'prometheus-cpp']
PROGRAMS = ['cortado', 'cortado-hdf5', 'cortado-onnx', 'cortado-serve', 'cortado-studio', 'cortado_library',
            'cortado_pymodule', 'cortado_layers_tests', 'cortado_server_tests']


def configure(source, folder, *options):
    command = ['cmake', '--preset', 'release', '-B', folder, *options]
    subprocess.run(command, cwd=source, capture_output=True, check=True)
    listed = subprocess.run(['ninja', '-C', folder, '-t', 'targets', 'all'], capture_output=True, text=True, check=True)
    return set(re.findall(r'^([\w-]+): phony$', listed.stdout, re.M))


def test_quick_start_first_changes_nothing(source, tmp_path):
    fresh = configure(source, tmp_path / 'fresh')
    for program in PROGRAMS: assert program in fresh, program
    quick = configure(source, tmp_path / 'second', *('-DCMAKE_DISABLE_FIND_PACKAGE_%s=ON' % name for name in ABSENT))
    assert 'cortado' in quick and not quick & {'cortado-serve', 'cortado_layers_tests', 'cortado_pymodule'}
    later = configure(source, tmp_path / 'second', *('-UCMAKE_DISABLE_FIND_PACKAGE_%s' % name for name in ABSENT))
    assert later == fresh


def test_no_default_follows_another_option(source):
    text = open(source + '/CMakeLists.txt').read()
    assert re.findall(r'^option\((\w+) [^)]*\$\{', text, re.M) == []


@pytest.mark.parametrize('words, code, said', [
    (['--help'], 0, 'scripts/test.sh layers -k AbsVal'),
    (['--lsit'], 2, 'unknown flag --lsit'),
    (['layer'], 2, 'tests/layer does not exist')])
def test_wrong_arguments_are_refused_before_anything_is_installed(source, words, code, said):
    done = subprocess.run([source + '/scripts/test.sh', *words], capture_output=True, text=True, timeout=20)
    assert done.returncode == code and said in done.stdout + done.stderr
