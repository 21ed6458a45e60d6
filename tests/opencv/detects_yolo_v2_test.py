"""OpenCV's Darknet importer and `cortado infer` return the same boxes for a small YOLO v2 with random weights:
convolutions, a Reorg branch and a deeper branch, and a grid of boxes. One reads prototxt and .caffemodel, the other
.cfg and .weights with the same numbers.

OpenCV suppresses boxes per class, at an overlap of 0.4; Cortado suppresses them across classes, like YOLO's ports to
Caffe. With one class that is the same. With three classes nothing is suppressed here, and the boxes that OpenCV has
kept for every class are compared.
"""
import pytest

from tests.opencv.random_nets import conv, cv2, difference, numpy, random_weights

TOLERANCE = 1e-4
HEIGHT, WIDTH, ANCHORS = 96, 64, (1.2, 1.5, 3.1, 2.4)
BOXES = len(ANCHORS) // 2  # of a cell

LEAKY = 'layer { name: "%s" type: "ReLU" bottom: "%s" top: "%s" relu_param { negative_slope: 0.1 } }\n'
DARKNET_CONV = '[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npad=1\nactivation=%s\n'


def caffe_net(classes, nms_threshold):
    return '''name: "yolo_v2"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: %d dim: %d } } }
''' % (HEIGHT, WIDTH) + conv('conv1', 'data', 8, 3, 2) + LEAKY % ('relu1', 'conv1', 'conv1') + \
        conv('conv2', 'conv1', 12, 3, 2) + LEAKY % ('relu2', 'conv2', 'conv2') + '''
layer { name: "reorg" type: "Reorg" bottom: "conv1" top: "reorg" reorg_param { stride: 2 } }
layer { name: "both" type: "Concat" bottom: "reorg" bottom: "conv2" top: "both" }
''' + conv('grid', 'both', BOXES * (5 + classes), 1) + '''
layer { name: "found" type: "YoloDetectionOutput" bottom: "grid" top: "found"
  yolo_detection_output_param { num_classes: %d num_box: %d confidence_threshold: 0 nms_threshold: %g %s } }
''' % (classes, BOXES, nms_threshold, ' '.join('biases: %g' % size for size in ANCHORS))


def darknet_net(classes):
    return '[net]\nheight=%d\nwidth=%d\nchannels=3\n' % (HEIGHT, WIDTH) + \
        DARKNET_CONV % (8, 3, 2, 'leaky') + DARKNET_CONV % (12, 3, 2, 'leaky') + \
        '[route]\nlayers=-2\n[reorg]\nstride=2\n[route]\nlayers=-1,-3\n' + \
        DARKNET_CONV % (BOXES * (5 + classes), 1, 1, 'linear') + \
        '[region]\nanchors=%s\nclasses=%d\ncoords=4\nnum=%d\nsoftmax=1\nthresh=1e-9\n' % (
            ','.join('%g' % size for size in ANCHORS), classes, BOXES)


def darknet_weights(arrays):
    """A .weights file: the version 0.2.0 and 64 bits for the images seen; each convolution's biases, then weights."""
    head = numpy.array([0, 2, 0, 0, 0], '<i4').tobytes()
    names = [name + end for name in ('conv1', 'conv2', 'grid') for end in ('/1', '/0')]
    return head + b''.join(arrays[name].astype('<f4').tobytes() for name in names)


def rows_of(region):
    """Converts boxes (center, sides, objectness, scores) to rows of image, class from 1, score, corners, best first.
    Suppressed boxes have a score of 0 and no row."""
    region = region[region[:, 5:].min(1) > 0]
    x, y, w, h = region[:, :4].T
    scores = region[:, 5:]
    rows = numpy.column_stack([0 * x, scores.argmax(1) + 1, scores.max(1), x - w / 2, y - h / 2, x + w / 2, y + h / 2])
    return rows[numpy.argsort(-rows[:, 2], kind='stable')]


def nearest(rows, targets):
    """For each of `targets` the row with the most similar corners."""
    apart = abs(rows[None, :, 3:] - targets[:, None, 3:]).max(2)
    return rows[apart.argmin(1)]


@pytest.mark.parametrize('classes, nms_threshold', [(1, 0.4), (3, 1)])
def test_opencv_finds_the_same_boxes(infer, folder, classes, nms_threshold):
    image = numpy.random.default_rng(1).normal(0, 1, (1, 3, HEIGHT, WIDTH)).astype(numpy.float32)
    text = caffe_net(classes, nms_threshold)
    arrays = random_weights(text, {'data': 3, 'both': 4 * 8 + 12})
    reorg, found = infer(text, arrays, {'data': image}, ['reorg', 'found'])
    (folder / 'net.cfg').write_text(darknet_net(classes))
    (folder / 'net.weights').write_bytes(darknet_weights(arrays))
    net = cv2.dnn.readNetFromDarknet('net.cfg', 'net.weights')
    net.setInput(image)
    their_reorg, region = net.forward('reorg_3'), net.forward('detection_out')
    found, theirs = found.reshape(-1, 7), rows_of(region)
    if classes > 1:  # nothing is suppressed: all boxes are in `found`
        assert len(found) == len(region) and len(theirs) > len(region) / 4
    else:
        assert len(found) == len(theirs)
        assert (numpy.diff(found[:, 2]) <= TOLERANCE).all(), 'the best are not first'
    assert difference(reorg, their_reorg) <= TOLERANCE
    # Scores that differ only by rounding may change the order.
    assert difference(nearest(found, theirs), theirs) <= TOLERANCE
