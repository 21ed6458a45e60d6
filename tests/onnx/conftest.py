"""Python's onnx builds and checks models; OpenCV, or ONNX Runtime with --runtime, runs them."""
import json

import pytest

from tests.cli.training_folder import shared_folder


def pytest_addoption(parser):
    parser.addoption('--runtime', action='store_true', help='compare with ONNX Runtime, too')


@pytest.fixture(scope='session', autouse=True)
def built_with_onnx(helper):
    helper('cortado-onnx')


@pytest.fixture(scope='session')
def runtime(request):
    """runtime('net.onnx', inputs, outputs) runs ONNX Runtime; None without --runtime."""
    if not request.config.getoption('runtime', False): return None
    import onnxruntime
    def answer(model, inputs, outputs):
        session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
        wanted = {each.name for each in session.get_inputs()}
        return session.run(outputs, {name: values for name, values in inputs.items() if name in wanted})
    return answer


@pytest.fixture(scope='session')
def summary(run):
    """summary('net.prototxt') is the output of `cortado summary`."""
    return lambda net: json.loads(run('summary', net, '--phase=TEST', '--json').stdout)


@pytest.fixture(scope='session')
def infer(run):
    """infer(model, weights, inputs, outputs) returns the program's outputs; weights None: the model's own."""
    numpy = pytest.importorskip('numpy')
    def infer(model, weights, inputs, outputs):
        flags = ['infer', '--force', '--model=%s' % model] + (['--weights=' + weights] if weights else [])
        for i, (name, values) in enumerate(inputs.items()):
            numpy.save('in%d.npy' % i, values)
            flags += ['--input', '%s=in%d.npy' % (name, i)]
        for i, name in enumerate(outputs): flags += ['--output', '%s=out%d.npy' % (name, i)]
        run(*flags, timeout=300)
        return [numpy.load('out%d.npy' % i) for i in range(len(outputs))]
    return infer
