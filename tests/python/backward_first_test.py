"""Backward of a net that has not run forward does not end the process, for any layer type."""
import os, signal, subprocess, sys

from tests.python.built_module import use_built_module

use_built_module()
import caffe
from caffe import layers as L

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

OPTIONS = {
    'Convolution': dict(kernel_size=3, num_output=2), 'Deconvolution': dict(convolution_param=dict(
        kernel_size=3, num_output=2)), 'InnerProduct': dict(num_output=2), 'Pooling': dict(kernel_size=2),
    'LSTM': dict(recurrent_param=dict(num_output=2)), 'RNN': dict(recurrent_param=dict(num_output=2)),
    'Embed': dict(input_dim=4, num_output=2), 'Slice': dict(ntop=3), 'SPP': dict(pyramid_height=2),
    'Split': dict(ntop=2), 'Clip': dict(min=0, max=1), 'ConvolutionDepthwise': dict(kernel_size=3, num_output=3),
    'ConvLSTM': dict(num_output=2, kernel_size=3, pad=1),
    'DenseBlock': dict(numTransition=2, initChannel=3, growthRate=2), 'GroupNorm': dict(group=3),
    'Im2col': dict(kernel_size=2), 'LSTMUnit': dict(ntop=2), 'Lstm': dict(num_output=2),
    'PSROIPooling': dict(spatial_scale=1, output_dim=3, group_size=1),
    'PixelShuffle': dict(upscale_factor=1), 'Reorg': dict(stride=2), 'ROIPooling': dict(pooled_h=2, pooled_w=2),
    'ROIAlign': dict(pooled_h=2, pooled_w=2), 'Transpose': dict(dim=[1, 0, 2, 3]),
    'SpatialTransformer': dict(output_H=4, output_W=4), 'Reshape': dict(shape=dict(dim=[0, -1])), 'Tile': dict(tiles=2),
    'Crop': dict(axis=2)}
SHAPES = [[[2, 3, 6, 6]], [[2, 3, 6, 6]] * 2, [[2, 3, 6, 6], [2]], [[2, 3], [2]], [[2, 3], [2, 3], [2]],
          [[4, 2, 3], [4, 2]], [[2, 3, 6, 6], [4, 5]], [[2, 3], [2, 3, 4, 4], [2, 3, 4, 4]], [[2, 3, 6, 6], [2, 6]],
          [[4, 2, 3, 6, 6], [4, 2]], [[4, 2, 3], [4, 2], [4, 2]], [[1, 2, 4], [1, 2, 16], [1, 2]],
          [[2, 3, 6, 6]] * 3, [[2]]]


def nets_of(kind):
    """Nets with a layer of this type, with the numbers and shapes of bottoms that it accepts."""
    for shapes in SHAPES:
        bottoms = L.Input(shape=[dict(dim=shape) for shape in shapes], ntop=len(shapes))
        top = getattr(L, kind)(*(bottoms if len(shapes) > 1 else [bottoms]), **OPTIONS.get(kind, {}))
        text = 'force_backward: true\n' + str(caffe.to_proto(*(top if isinstance(top, tuple) else [top])))
        with open('net', 'w') as file: file.write(text)
        try:
            yield caffe.Net('net', caffe.TRAIN)
        except RuntimeError:
            continue


def run_backward(kind):
    for net in nets_of(kind):
        for blob in net.blobs.values(): blob.diff[...] = 1
        try:
            net.backward()
        except RuntimeError:
            pass


def in_a_child(kind):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        run_backward(kind)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def test_backward_first(folder):
    """The parent of the forked children has not run a net, so it has no threads."""
    done = subprocess.run([sys.executable, '-m', 'tests.python.backward_first_test'], cwd=folder, text=True,
                          capture_output=True, timeout=250, env=dict(os.environ, PYTHONPATH=ROOT))
    assert done.returncode == 0 and done.stdout == '', done.stdout + done.stderr[-2000:]


if __name__ == '__main__':
    for kind in caffe.layer_type_list():
        status = in_a_child(kind)
        if status != 0: print(kind, status)
