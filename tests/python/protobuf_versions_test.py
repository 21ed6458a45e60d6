"""caffe_pb2 with every version of protobuf from PyPI that a wheel may be installed with, and what newer ones refuse."""
import os, subprocess, sys

import pytest

from tests.python.built_module import use_built_module

use_built_module()
from caffe.proto import caffe_pb2

VERSIONS = ['==3.20.*', '==4.*', '==5.*', '==6.*', '==7.*']
IMPORTS = '''
import caffe, caffe.io, google.protobuf
from caffe import layers as L, params as P
from caffe.proto import caffe_pb2
from google.protobuf import text_format
net = caffe_pb2.NetParameter()
text_format.Parse('layer { name: "p" type: "Python" python_param { module: "m" param_str_: "a" } }', net)
again = caffe_pb2.NetParameter.FromString(net.SerializeToString())
assert again.layer[0].python_param.param_str_ == 'a' and str(again) == str(net)
assert 'InnerProduct' in str(caffe.to_proto(L.InnerProduct(L.Input(), num_output=3)))
print(google.protobuf.__version__)
'''


def messages(descriptors):
    for descriptor in descriptors:
        yield descriptor
        yield from messages(descriptor.nested_types)


def test_fields_have_names_of_their_own_in_json():
    """Otherwise protobuf from 4.22 on refuses the whole schema."""
    seen = list(messages(caffe_pb2.DESCRIPTOR.message_types_by_name.values()))
    assert len(seen) > 100
    for message in seen:
        names = [field.json_name for field in message.fields]
        assert len(set(names)) == len(names), message.full_name


@pytest.mark.parametrize('version', VERSIONS)
def test_imports(version, tmp_path):
    venv = os.path.join(os.environ['CORTADO_BUILD'], 'test-venv')
    if not os.path.exists(venv + '/complete'): pytest.skip('scripts/dev/test_venv.sh has not run')
    install = [venv + '/bin/pip', 'install', '-q', '--disable-pip-version-check', '--no-deps', '--target']
    if subprocess.run(install + [str(tmp_path), 'protobuf' + version], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('PyPI cannot be reached')
    path = os.pathsep.join([str(tmp_path)] + [folder for folder in sys.path if folder])
    done = subprocess.run([sys.executable, '-c', IMPORTS], env=dict(os.environ, PYTHONPATH=path), capture_output=True,
                          text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().split('.')[0] == version[2], done.stdout
