"""caffe.draw: pictures of nets, with the program's command `draw`."""
import os
import tempfile

from google.protobuf import text_format

from cortado import program


def draw_net_to_file(caffe_net, filename, rankdir='LR', phase=None, display_lrm=False):
    """Draws a NetParameter message: .svg, .png or .dot chosen by the file name."""
    del display_lrm  # the picture always has the learning rates
    with tempfile.NamedTemporaryFile('w', suffix='.prototxt') as file:
        file.write(text_format.MessageToString(caffe_net))
        file.flush()
        command = ['draw', '--model=' + file.name, os.path.abspath(filename), '--rankdir=' + rankdir, '--force']
        program.run(*command, *(['--phase=' + ('TEST' if phase == 1 else 'TRAIN')] if phase is not None else []))


def draw_net(caffe_net, rankdir='LR', ext='png', phase=None, display_lrm=False):
    """The picture's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'net.' + ext)
        draw_net_to_file(caffe_net, path, rankdir, phase, display_lrm)
        with open(path, 'rb') as file:
            return file.read()
