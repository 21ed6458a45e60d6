#!/usr/bin/python3
"""The nets of models/ as ONNX: Python's onnx finds nothing to say against them, and OpenCV, or with --runtime ONNX
Runtime, gives this program's outputs; so does the net that is read back from the model."""
import argparse
import os

from workplace import ROOT, Workplace, far, numpy, onnx

STOPS = {'crnn_digits': 'scores', 'ssd_fashion': 'mbox_loc,mbox_conf_flatten'}  # what is behind has no operators
BATCHES = (1, 3)
NEAR = 1e-5


def logits(layers, outputs):
    """What the net ends with, and in place of probabilities, which hide differences, what these are made of."""
    return [layer['bottoms'][0] if layer['type'] == 'Softmax' else output for output in outputs
            for layer in [next(layer for layer in layers if output in layer['tops'])]]


def with_opencv(model, x, outputs):
    import cv2
    net = cv2.dnn.readNetFromONNX(model)
    net.setInput(x, 'data')
    return [numpy.asarray(y) for y in net.forward(outputs)]


def with_runtime(model, x, outputs):
    import onnxruntime
    session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
    return session.run(outputs, {'data': x})


def check_net(place, name, run, forms):
    net = os.path.join(ROOT, 'models', name, 'deploy.prototxt')
    summary = place.summary(net)
    outputs = STOPS[name].split(',') if name in STOPS else summary['outputs']
    outputs = logits(summary['layers'], outputs)
    place.draw_weights(summary, 'net.npz')
    for form in forms:
        place.succeed('convert', 'onnx', net, 'net.npz', '-o', 'net.onnx', '--force', '--outputs=' + ','.join(outputs),
                      *form)
        onnx.checker.check_model('net.onnx')
        place.succeed('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt', '--weights=back.caffemodel', '--force')
        worst = worst_back = 0
        for batch in BATCHES:
            if name == 'crnn_digits' and batch > 1 and run == with_opencv:
                continue  # its LSTM takes the batch that it was first shown
            x = numpy.random.RandomState(batch).uniform(-1, 1, [batch] + summary['blobs']['data'][1:]).astype('f4')
            ours = place.infer(net, 'net.npz', {'data': x}, outputs)
            back = place.infer('back.prototxt', 'back.caffemodel', {'data': x}, outputs)
            worst = max([worst] + [far(a, b) for a, b in zip(run('net.onnx', x, outputs), ours)])
            worst_back = max([worst_back] + [far(a, b) for a, b in zip(back, ours)])
        print('%-14s %-16s %.1e, read back %.1e' % (name, ' '.join(form), worst, worst_back), flush=True)
        assert worst < NEAR and worst_back < NEAR, name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cortado')
    parser.add_argument('--runtime', action='store_true', help='ONNX Runtime in the place of OpenCV')
    parser.add_argument('--all', action='store_true', help='large nets and other forms, too')
    options = parser.parse_args()
    place = Workplace(options.cortado)
    large = () if options.all else ('alexnet', 'caffenet', 'vgg16', 'resnet50', 'resnet50_v1_5')
    run = with_runtime if options.runtime else with_opencv
    for name in sorted(os.listdir(os.path.join(ROOT, 'models'))):
        if name in large or not os.path.exists(os.path.join(ROOT, 'models', name, 'deploy.prototxt')):
            continue
        forms = [('--opencv',), ('--opencv', '--fold')] if run == with_opencv else [(), ('--fold',)]
        check_net(place, name, run, forms if options.all else forms[-1:])


main()
