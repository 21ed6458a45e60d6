"""Shared fixtures."""
import pytest


@pytest.fixture
def infer(run, folder):
    """infer(net, weights, inputs, outputs) returns the outputs of `cortado infer`. It leaves deploy.prototxt and
    random.caffemodel, without the weights `further`, which OpenCV cannot read."""
    numpy = pytest.importorskip('numpy')
    def infer(text, weights, inputs, outputs, further={}):
        (folder / 'deploy.prototxt').write_text(text)
        numpy.savez('random.npz', **weights)
        run('convert', 'weights', 'random.npz', 'random.caffemodel', '--model=deploy.prototxt', '--force')
        command = ['infer', '--cpu', '--force', '--model=deploy.prototxt', '--weights=random.caffemodel']
        if further:
            numpy.savez('further.npz', **further)
            command.append('--weights=further.npz')
        for blob, values in inputs.items():
            numpy.save(blob + '.npy', values)
            command += ['--input', '%s=%s.npy' % (blob, blob)]
        for blob in outputs: command += ['--output', '%s=%s.npy' % (blob, blob)]
        run(*command)
        return [numpy.load(blob + '.npy') for blob in outputs]
    return infer
