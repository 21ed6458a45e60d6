"""What the programs here share: a folder of their own, cortado run in it, weights drawn at random."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
except ImportError as missing:
    print('skipped: %s' % missing)
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Workplace(tempfile.TemporaryDirectory):
    def __init__(self, program):
        super().__init__()
        self.program = os.path.abspath(program)
        if not os.path.exists(os.path.join(os.path.dirname(self.program), 'cortado-onnx')):
            print('skipped: built without ONNX')
            sys.exit(77)
        os.chdir(self.name)

    def run(self, *arguments, timeout=300):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=timeout)

    def succeed(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.returncode, done.stderr[-3000:])
        return done

    def summary(self, net):
        return json.loads(self.succeed('summary', net, '--phase=TEST', '--json').stdout)

    def draw_weights(self, summary, path, seed=1):
        """Weights of every layer of a summary(), of a size that neither grows nor dies on the way, as an .npz;
        [its path], or [] where no layer has any."""
        draw, arrays = numpy.random.RandomState(seed), {}
        for layer, shapes in summary['params'].items():
            for i, values in enumerate(blobs(draw, shapes)):
                arrays['%s/%d' % (layer, i)] = values.astype('f4')
        numpy.savez(path, **arrays)
        return [path] if arrays else []

    def infer(self, model, weights, inputs, outputs):
        """What cortado makes of `inputs`; weights None: they are the model's own."""
        flags = ['infer', '--model=' + model] + (['--weights=' + weights] if weights else [])
        for i, (name, values) in enumerate(inputs.items()):
            numpy.save('in%d.npy' % i, values)
            flags += ['--input', '%s=in%d.npy' % (name, i)]
        for i, name in enumerate(outputs):
            flags += ['--output', '%s=out%d.npy' % (name, i)]
        self.succeed(*flags)
        return [numpy.load('out%d.npy' % i) for i in range(len(outputs))]


def blobs(draw, shapes):
    """BatchNorm's are sums of means and variances, and the factor to divide them by; of others the first is a matrix
    or filters, or factors, the others are terms."""
    if len(shapes) >= 3 and shapes[2] == [1] and shapes[0] == shapes[1]:
        yield 2 * draw.normal(0, 0.1, shapes[0])
        yield 2 * draw.uniform(0.5, 1.5, shapes[1])
        yield numpy.array([2.0])
        shapes = shapes[3:]
    if len(shapes) == 4 and all(len(shape) == 4 and shape == [1, shape[1], 1, 1] for shape in shapes):
        for low, high in ((0.8, 1.2), (-0.1, 0.1), (-0.2, 0.2), (0.5, 1.5)):  # BN's: factors, terms, means, variances
            yield draw.uniform(low, high, shapes[0])
        return
    for i, shape in enumerate(shapes):
        if len(shape) >= 2:
            yield draw.normal(0, (2 / numpy.prod(shape[1:])) ** 0.5, shape)
        else:
            yield draw.uniform(0.8, 1.2, shape) if i == 0 else draw.normal(0, 0.1, shape)


def far(a, b):
    """The largest difference, in shares of the largest value of b."""
    assert a.shape == b.shape, (a.shape, b.shape)
    assert numpy.isfinite(a).all() and numpy.isfinite(b).all()
    return float(abs(a - b).max() / max(1e-30, abs(b).max()))
