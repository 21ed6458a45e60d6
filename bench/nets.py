"""The measured nets: files under models/, rewritten for a batch in memory, and a net on sequences in this folder. Both
sides read the same rewritten file."""
import os

import prototxt
from prototxt import Quoted, one

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES, SMALLER = (3, 227, 227), (3, 224, 224)
NETS = {  # name: (training batch size, shape of a sample, classes)
    'lenet': (64, (1, 28, 28), 10), 'cifar10_quick': (100, (3, 32, 32), 10), 'alexnet': (32, IMAGES, 1000),
    'googlenet': (16, SMALLER, 1000), 'resnet18': (16, SMALLER, 1000), 'resnet50': (8, SMALLER, 1000),
    'vgg16': (4, SMALLER, 1000), 'mobilenet_v1': (8, SMALLER, 1000), 'squeezenet': (16, IMAGES, 1000),
    'cifar10_full': (100, (3, 32, 32), 10), 'caffenet': (32, IMAGES, 1000),
    'mobilenet_v2': (8, SMALLER, 1000), 'shufflenet_v2': (16, SMALLER, 1000), 'lstm': (32, (100, 256), None)}


def training_batch(name):
    return NETS[name][0]


def is_of_sequences(name):
    return NETS[name][2] is None


def shape(name, batch):
    sample = NETS[name][1]
    return (sample[0], batch) + sample[1:] if is_of_sequences(name) else (batch,) + sample


def read(name, form):
    with open(os.path.join(ROOT, 'models', name, form + '.prototxt')) as file:
        return prototxt.parse(file.read())


def shape_message(dims):
    return {'dim': [float(dim) for dim in dims]}


def is_of(layer, phase):
    rules = layer.get('include', [])
    return not rules or any(one(rule, 'phase', phase) == phase for rule in rules)


def without_dropout(layers):
    """Removes Dropout layers; readers of their tops read their bottoms."""
    kept, renamed = [], {}
    for layer in layers:
        bottoms = [renamed.get(bottom, bottom) for bottom in layer.get('bottom', [])]
        if one(layer, 'type') == 'Dropout':
            renamed[one(layer, 'top')] = bottoms[0]
        else:
            kept.append(dict(layer, bottom=[Quoted(bottom) for bottom in bottoms]))
    return kept


def training(name, batch, source='Input', dropout=True):
    """The text of the training net, with data from Input layers or random values from DummyData."""
    if is_of_sequences(name):
        return sequences(name, batch)
    net = read(name, 'train_val')
    layers = [layer for layer in net['layer']
              if is_of(layer, 'TRAIN') and one(layer, 'type') not in ('Data', 'Accuracy')]
    parameters = {'shape': [shape_message(shape(name, batch)), shape_message([batch])]}
    if source == 'DummyData':
        parameters['data_filler'] = [{'type': [Quoted('gaussian')]}, {'type': [Quoted('constant')]}]
    data = {'name': [Quoted('data')], 'type': [Quoted(source)], 'top': [Quoted('data'), Quoted('label')],
            'input_param' if source == 'Input' else 'dummy_data_param': [parameters]}
    net['layer'] = [data] + (layers if dropout else without_dropout(layers))
    return prototxt.dump(net)


def sequences(name, batch):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + '.prototxt')) as file:
        text = file.read()
    steps, values = NETS[name][1]
    return text.replace('STEPS', str(steps)).replace('BATCH', str(batch)).replace('VALUES', str(values))


def deployed(name, batch, source='Input'):
    """The text of the net for inference, with data from an Input layer or random values from DummyData."""
    net = read(name, 'deploy')
    parameters = {'shape': [shape_message(shape(name, batch))]}
    if source == 'DummyData':
        parameters['data_filler'] = [{'type': [Quoted('gaussian')]}]
    data = {'name': net['layer'][0]['name'], 'type': [Quoted(source)], 'top': net['layer'][0]['top'],
            'input_param' if source == 'Input' else 'dummy_data_param': [parameters]}
    net['layer'] = [data] + without_dropout(net['layer'][1:])
    return prototxt.dump(net)


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)
    return path


def write_batches(folder, name, batch, count=1):
    """Writes random samples and labels (for sequences: targets of each step) as raw floats; returns both paths."""
    import numpy  # imported here, because the nets' texts must be available without it
    random = numpy.random.default_rng(1)
    data, label = os.path.join(folder, 'data.f32'), os.path.join(folder, 'label.f32')
    random.standard_normal((count,) + shape(name, batch), dtype=numpy.float32).tofile(data)
    if is_of_sequences(name):
        random.uniform(-0.5, 0.5, (count,) + shape(name, batch)).astype(numpy.float32).tofile(label)
    else:
        random.integers(0, NETS[name][2], count * batch).astype(numpy.float32).tofile(label)
    return data, label
