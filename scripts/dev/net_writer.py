"""Writes nets as compact prototxt text, for make_models.py.

A Net collects layers; the default bottom of each is the top of the one before it. The same calls write the training net
(Data layers, fillers, multipliers, losses), the deployed net (Input, Softmax), and the training net for small images:
28 x 28 grey images of ten classes, for which a net for photographs begins with a stride of 1.
"""
import re

WIDTH = 110


class Word(str):
    """An enum value, which is written without quotes."""


MAX, AVE, TRAIN, TEST, LMDB, WITHIN_CHANNEL = map(Word, ('MAX', 'AVE', 'TRAIN', 'TEST', 'LMDB', 'WITHIN_CHANNEL'))
XAVIER, MSRA = {'type': 'xavier'}, {'type': 'msra'}


def text(value):
    """A value in prototxt syntax."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if isinstance(value, Word) else '"%s"' % value
    return '%g' % value if isinstance(value, float) else str(value)


def pieces(message):
    """The fields of a message, one string each: lists repeat a field, dictionaries are messages."""
    for key, values in message.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                yield '%s { %s }' % (key, ' '.join(pieces(value)))
            else:
                yield '%s: %s' % (key, text(value))


def wrapped(parts, indent):
    """Parts joined by blanks, in lines of at most WIDTH columns."""
    lines = ['']
    for part in parts:
        if lines[-1] and len(indent) + len(lines[-1]) + len(part) >= WIDTH:
            lines.append('')
        lines[-1] += (' ' if lines[-1] else '') + part
    return [indent + line for line in lines]


def layer_text(message):
    """One line if it fits; else the scalar fields on the first line and each message on a line of its own."""
    parts = list(pieces(message))
    line = 'layer { %s }' % ' '.join(parts)
    if len(line) <= WIDTH:
        return line
    head = [p for p in parts if not p.endswith('}')]
    params = [p for p in parts if p.startswith('param {')]
    rest = [p for p in parts if p.endswith('}') and p not in params]
    lines = wrapped(head, '  ') + (wrapped(params, '  ') if params else [])
    for part in rest:
        lines += ['  ' + part] if len(part) + 2 <= WIDTH else split_message(part)
    return 'layer {\n%s\n}' % '\n'.join(lines)


def split_message(part):
    """A long one-line message over several lines, cut only between its own fields."""
    name, body = re.fullmatch(r'(\w+) \{ (.*) \}', part).groups()
    fields = re.findall(r'\w+: "[^"]*"|\w+: \S+|\w+ \{(?:[^{}]|\{[^{}]*\})*\}', body)
    return ['  %s {' % name] + wrapped(fields, '    ') + ['  }']


class Net:
    """Layers in order; `top` is the default bottom of the next layer."""

    def __init__(self, name, about, training, small=False):
        self.name, self.about, self.training, self.small = name, about, training, small
        self.classes, self.first_stride = (10, 1) if small else (1000, 2)
        self.layers, self.top = [], 'data'
        self.output = 'probabilities'  # of the deployed net

    def add(self, kind, name, bottom=None, top=None, **rest):
        bottom = self.top if bottom is None else bottom
        tops = name if top is None else top
        message = {'name': name, 'type': kind}
        if bottom:
            message['bottom'] = bottom
        message['top'] = tops
        message.update(rest)
        self.layers.append(message)
        self.top = tops if isinstance(tops, str) else tops[0]
        return self.top

    def inplace(self, kind, name, **rest):
        return self.add(kind, name, top=self.top, **rest)

    def learned(self, weight, bias=None, decay=1, bias_decay=0):
        """Multipliers and fillers, for training only: (fields of the layer, fields of its parameter message)."""
        if not self.training:
            return {}, {}

        def multipliers(rate, decay):
            return {'lr_mult': rate, **({'decay_mult': decay} if decay != 1 else {})}

        fillers = {'weight_filler': weight}
        if bias is None:
            return ({'param': multipliers(1, decay)} if decay != 1 else {}), fillers
        if bias:
            fillers['bias_filler'] = {'type': 'constant', 'value': bias}
        return {'param': [multipliers(1, decay), multipliers(2, bias_decay)]}, fillers

    def conv(self, name, outputs, kernel, weight, bias=0, bottom=None, decay=1, bias_decay=0, **shape):
        layer, fillers = self.learned(weight, bias, decay, bias_decay)
        options = {'num_output': outputs, 'kernel_size': kernel, **shape}
        if bias is None:
            options['bias_term'] = False
        return self.add('Convolution', name, bottom, **layer, convolution_param={**options, **fillers})

    def fc(self, name, outputs, weight, bias=0, bottom=None, decay=1, bias_decay=0):
        layer, fillers = self.learned(weight, bias, decay, bias_decay)
        return self.add('InnerProduct', name, bottom, **layer, inner_product_param={'num_output': outputs, **fillers})

    def relu(self, name):
        return self.inplace('ReLU', name)

    def pool(self, name, how, kernel, stride, bottom=None, **more):
        options = {'pool': how, 'kernel_size': kernel, 'stride': stride, **more}
        return self.add('Pooling', name, bottom, pooling_param=options)

    def average(self, name):
        """Global average pooling."""
        return self.add('Pooling', name, pooling_param={'pool': AVE, 'global_pooling': True})

    def lrn(self, name, **options):
        return self.add('LRN', name, lrn_param=options)

    def dropout(self, name, ratio):
        return self.inplace('Dropout', name, dropout_param={'dropout_ratio': ratio})

    def data(self, dataset, shape, batches, train, test):
        """A Data layer per phase, or the Input of a deployed net."""
        if not self.training:
            self.add('Input', 'data', [], input_param={'shape': {'dim': [1, *shape]}})
            return
        for phase, batch, transform in (TRAIN, batches[0], train), (TEST, batches[1], test):
            source = 'data_sets/%s_%s_lmdb' % (dataset, phase.lower())
            self.add('Data', 'data', [], ['data', 'label'], include={'phase': phase}, transform_param=transform,
                     data_param={'source': source, 'batch_size': batch, 'backend': LMDB})

    def imagenet(self, crop, batches, **transform):
        """BGR images of 256 x 256: random mirrored crops for training, the central crop for testing."""
        if self.small:
            tests = {'scale': 0.0111, 'mean_value': 73}  # 1 / standard deviation, and mean, of Fashion-MNIST's pixels
            return self.data('fashion_mnist', (1, 28, 28), (64, 100), {'mirror': True, **tests}, tests)
        train = {'mirror': True, 'crop_size': crop, **transform}
        self.data('ilsvrc12', (3, crop, crop), batches, train, {'crop_size': crop, **transform})

    def accuracy(self, name, k=1):
        scores = self.top
        top_k = {'accuracy_param': {'top_k': k}} if k > 1 else {}
        self.add('Accuracy', name, [scores, 'label'], include={'phase': TEST}, **top_k)
        self.top = scores

    def finish(self, top5=False, loss='loss', names=('accuracy', 'accuracy_top5')):
        """Adds the loss and accuracies of the last top, or the probabilities of a deployed net."""
        if not self.training:
            self.add('Softmax', 'prob')
            return
        self.accuracy(names[0])
        if top5:
            self.accuracy(names[1], 5)
        self.add('SoftmaxWithLoss', loss, [self.top, 'label'], loss)

    def __str__(self):
        deployed = 'Deployed: the input is one image, the output %s.' % self.output
        use = 'For training and testing.' if self.training else deployed
        use = 'The same net for 28 x 28 grey images of ten classes.' if self.small else use
        head = '# %s\n# %s Written by scripts/dev/make_models.py.\n' % (self.about, use)
        return head + 'name: "%s"\n' % self.name + '\n'.join(map(layer_text, self.layers)) + '\n'
