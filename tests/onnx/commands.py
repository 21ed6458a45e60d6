#!/usr/bin/python3
"""A model in the place of a net and its weights, in every command that infers; what a model is called, takes and gives;
pixels prepared within the model; mistakes of users."""
import json
import os
import sys

from workplace import Workplace, far, numpy, onnx

TRAIN = '''name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { crop_size: 12 scale: 0.02 mean_value: 90 mean_value: 100 mean_value: 110 }
  data_param { source: "none" batch_size: 8 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  transform_param { crop_size: 12 scale: 0.02 mean_value: 90 mean_value: 100 mean_value: 110 }
  data_param { source: "none" batch_size: 8 } }
'''
BODY = '''layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 3 bias_term: false } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "scale" type: "Scale" bottom: "conv" top: "conv" scale_param { bias_term: true } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "gauze" type: "Dropout" bottom: "conv" top: "conv" include { phase: TRAIN } }
layer { name: "fc" type: "InnerProduct" bottom: "conv" top: "fc" inner_product_param { num_output: 5 } }
'''
DEPLOY = '''name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 12 dim: 12 } } }
''' + BODY + 'layer { name: "prob" type: "Softmax" bottom: "fc" top: "prob" }\n'
LOSS = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }\n'


def write(name, text):
    with open(name, 'w') as file:
        file.write(text)


def kinds(model):
    return [node.op_type for node in model.graph.node]


def check_form(place):
    """Names, the opset and the open batch; a train_val net is deployed first."""
    place.succeed('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'net.onnx')
    model = onnx.load('net.onnx')
    assert model.opset_import[0].version == 17 and model.graph.name == 'small'
    (data,), (prob,) = model.graph.input, model.graph.output
    sizes = [dim.dim_param or dim.dim_value for dim in data.type.tensor_type.shape.dim]
    assert data.name == 'data' and sizes == ['N', 3, 12, 12] and prob.name == 'prob'
    assert kinds(model) == ['Conv', 'BatchNormalization', 'Relu', 'Flatten', 'Gemm', 'Softmax']
    assert [node.name for node in model.graph.node] == ['conv', 'bn', 'relu', 'fc/Flatten', 'fc', 'prob']
    place.succeed('convert', 'onnx', 'deploy.prototxt', '--weights=net.npz', '-o', 'folded.onnx', '--fold')
    assert kinds(onnx.load('folded.onnx')) == ['Conv', 'Relu', 'Flatten', 'Gemm', 'Softmax']
    place.succeed('convert', 'onnx', 'train_val.prototxt', 'net.npz', '-o', 'trained.onnx')
    assert kinds(onnx.load('trained.onnx'))[-2:] == ['Gemm', 'Softmax']
    place.succeed('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'part.onnx', '--outputs=fc,conv')
    assert [output.name for output in onnx.load('part.onnx').graph.output] == ['fc', 'conv']


def check_commands(place):
    x = numpy.random.RandomState(5).uniform(-1, 1, (4, 3, 12, 12)).astype('f4')
    ours = place.infer('deploy.prototxt', 'net.npz', {'data': x}, ['prob', 'fc'])
    for model in ('net.onnx', 'folded.onnx'):
        for a, b in zip(place.infer(model, None, {'data': x}, ['prob', 'fc']), ours):
            assert far(a, b) < 1e-6, model
    place.succeed('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', '--weights=back.caffemodel')
    names = place.succeed('convert', 'weights', 'back.caffemodel', '--list').stdout
    assert all(name in names for name in ('conv', 'bn ', 'bn_scale', 'fc')), names
    assert far(place.infer('back.prototxt', 'net.onnx', {'data': x}, ['prob'])[0], ours[0]) < 1e-6
    told = json.loads(place.succeed('time', '--model=net.onnx', '--phase=TEST', '--iterations=1', '--json').stdout)
    assert told['net'] == 'small'
    assert 'InnerProduct' in place.succeed('summary', 'net.onnx').stdout
    import cv2
    cv2.imwrite('image.png', numpy.random.RandomState(6).randint(0, 256, (12, 12, 3)).astype('u1'))
    lines = [place.succeed('classify', '--mean=90,100,110', '--scale=0.02', 'image.png', '--json', *model).stdout
             for model in (('--model=net.onnx',), ('--model=deploy.prototxt', '--weights=net.npz'))]
    first, second = (json.loads(line)['top'] for line in lines)
    assert [guess['label'] for guess in first] == [guess['label'] for guess in second]
    assert all(abs(a['probability'] - b['probability']) < 1e-5 for a, b in zip(first, second))
    os.rename('net.onnx', 'net.model')  # told by its content
    assert far(place.infer('net.model', None, {'data': x}, ['prob'])[0], ours[0]) < 1e-6
    os.rename('net.model', 'net.onnx')


def check_pixels(place):
    """Mean and scale as nodes, and the other order of colours: read back, the model does what the data layer did."""
    pixels = numpy.random.RandomState(7).randint(0, 256, (2, 3, 12, 12)).astype('f4')
    mean = numpy.array([90, 100, 110], 'f4').reshape(3, 1, 1)
    ours = place.infer('deploy.prototxt', 'net.npz', {'data': (pixels - mean) * 0.02}, ['fc'])[0]
    for rgb in (False, True):
        place.succeed('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'pixels.onnx', '--like=train_val.prototxt',
                      '--outputs=fc', '--force', *(['--rgb'] if rgb else []))
        onnx.checker.check_model('pixels.onnx')
        given = numpy.ascontiguousarray(pixels[:, ::-1]) if rgb else pixels
        assert far(place.infer('pixels.onnx', None, {'data': given}, ['fc'])[0], ours) < 1e-5, rgb
        import cv2
        net = cv2.dnn.readNetFromONNX('pixels.onnx')
        net.setInput(given, 'data')
        assert far(net.forward('fc'), ours) < 1e-5, rgb


def check_external(place):
    """Values in a file beside the model."""
    model = onnx.load('net.onnx')
    onnx.save_model(model, 'apart.onnx', save_as_external_data=True, location='apart.values', size_threshold=0)
    assert os.path.getsize('apart.values') > 1000
    x = numpy.ones((1, 3, 12, 12), 'f4')
    a, b = (place.infer(name, None, {'data': x}, ['prob'])[0] for name in ('apart.onnx', 'net.onnx'))
    assert (a == b).all()


def check_mistakes(place):
    def refused(code, word, *arguments):
        done = place.run('convert', 'onnx', *arguments)
        assert done.returncode == code and word in done.stderr, (arguments, done.returncode, done.stderr)
    refused(2, '--force replaces it', 'deploy.prototxt', 'net.npz', '-o', 'net.onnx')
    refused(2, 'weights are missing', 'deploy.prototxt', '-o', 'new.onnx')
    refused(2, '--weights=FILE is missing', 'net.onnx', '-o', 'new.prototxt')
    refused(2, 'cannot be written as .h5', 'deploy.prototxt', 'net.npz', '-o', 'new.h5')
    refused(2, '--rgb goes with --like', 'deploy.prototxt', 'net.npz', '-o', 'new.onnx', '--rgb')
    refused(2, 'nothing', 'deploy.prototxt', 'net.npz', '-o', 'new.onnx', '--outputs=nothing')
    refused(5, 'no such file', 'absent.prototxt', 'net.npz', '-o', 'new.onnx')
    refused(5, 'absent.npz', 'deploy.prototxt', 'absent.npz', '-o', 'new.onnx')
    refused(5, 'folder', 'deploy.prototxt', 'net.npz', '-o', 'folder/new.onnx')
    refused(8, 'fc', 'other.prototxt', 'net.npz', '-o', 'new.onnx')
    refused(3, 'no ONNX model', 'deploy.prototxt', '-o', 'new.prototxt', '--weights=new.caffemodel')
    refused(2, 'transform_param', 'deploy.prototxt', 'net.npz', '-o', 'new.onnx', '--like=deploy.prototxt')
    assert not os.path.exists('new.onnx') and not os.path.exists('new.prototxt')
    done = place.run('infer', '--model=deploy.prototxt', '--input', 'data=in0.npy', '--output', 'prob=y.npy')
    assert done.returncode == 2, done.stderr


def main():
    place = Workplace(sys.argv[1])
    write('deploy.prototxt', DEPLOY)
    write('other.prototxt', DEPLOY.replace('num_output: 5', 'num_output: 7'))
    write('train_val.prototxt', TRAIN + BODY + LOSS)
    place.draw_weights(place.summary('deploy.prototxt'), 'net.npz')
    for check in (check_form, check_commands, check_pixels, check_external, check_mistakes):
        check(place)
        print('%s: well' % check.__name__)


main()
