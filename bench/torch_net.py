"""The net of a prototxt as PyTorch modules, with Caffe's arithmetic and the weights of a .caffemodel."""
import torch
import torch.nn.functional as F

import prototxt
from prototxt import one


def pair(parameters, name, default):
    if name + '_h' in parameters:
        return int(one(parameters, name + '_h')), int(one(parameters, name + '_w'))
    value = int(one(parameters, 'kernel_size' if name == 'kernel' else name, default))
    return value, value


def convolution(layer, tensors):
    p = one(layer, 'convolution_param')
    groups, w = int(one(p, 'group', 1)), tensors[0]
    return adopt(torch.nn.Conv2d(w.shape[1] * groups, w.shape[0], tuple(w.shape[2:]), pair(p, 'stride', 1),
                                 pair(p, 'pad', 0), groups=groups, bias=len(tensors) > 1, device='meta'), tensors)


def batch_norm(layer, tensors, scale):
    p = one(layer, 'batch_norm_param', {})
    module = torch.nn.BatchNorm2d(tensors[0].numel(), eps=one(p, 'eps', 1e-5),
                                  momentum=1 - one(p, 'moving_average_fraction', 0.999))
    factor = float(tensors[2])
    if factor != 0:
        module.running_mean, module.running_var = tensors[0] / factor, tensors[1] / factor
    return adopt(module, scale)


def adopt(module, tensors):
    """Uses the tensors without initialization or a copy."""
    module.weight = torch.nn.Parameter(tensors[0])
    if len(tensors) > 1:
        module.bias = torch.nn.Parameter(tensors[1])
    return module


class InnerProduct(torch.nn.Module):
    def __init__(self, tensors):
        super().__init__()
        outputs, inputs = tensors[0].shape
        self.linear = adopt(torch.nn.Linear(inputs, outputs, bias=len(tensors) > 1, device='meta'), tensors)

    def forward(self, x):
        return self.linear(x.flatten(1))


class Lstm(torch.nn.Module):
    """Caffe's gates are i, f, o, g, PyTorch's i, f, g, o. The state carries over between batches."""

    def __init__(self, tensors):
        super().__init__()
        units, inputs = tensors[0].shape[0] // 4, tensors[0].shape[1]
        self.lstm, self.state = torch.nn.LSTM(inputs, units), None

        def swapped(tensor):
            i, f, o, g = tensor.chunk(4)
            return torch.nn.Parameter(torch.cat([i, f, g, o]))
        self.lstm.weight_ih_l0, self.lstm.bias_ih_l0 = swapped(tensors[0]), swapped(tensors[1])
        self.lstm.weight_hh_l0 = swapped(tensors[2])
        torch.nn.init.zeros_(self.lstm.bias_hh_l0).requires_grad_(False)  # Caffe has one bias
        self.lstm.flatten_parameters()

    def forward(self, x, _):
        y, state = self.lstm(x, self.state)
        self.state = tuple(value.detach() for value in state)
        return y


class OnnxResponseNorm(torch.autograd.Function):
    """Exported as ONNX's LRN, for which peers have kernels, instead of its parts."""

    @staticmethod
    def forward(ctx, x, size, alpha, beta, k):
        return F.local_response_norm(x, size, alpha, beta, k)

    @staticmethod
    def symbolic(graph, x, size, alpha, beta, k):
        return graph.op('LRN', x, size_i=size, alpha_f=alpha, beta_f=beta, bias_f=k)


class ResponseNorm(torch.nn.LocalResponseNorm):
    def forward(self, x):
        norm = OnnxResponseNorm.apply if torch.onnx.is_in_onnx_export() else F.local_response_norm
        return norm(x, self.size, self.alpha, self.beta, self.k)


def response_norm(layer):
    p = one(layer, 'lrn_param', {})
    size, alpha, beta, k = int(one(p, 'local_size', 5)), one(p, 'alpha', 1.0), one(p, 'beta', 0.75), one(p, 'k', 1.0)
    if one(p, 'norm_region') == 'WITHIN_CHANNEL':
        return lambda x: x * (1 + alpha * F.avg_pool2d(x * x, size, 1, size // 2)) ** -beta
    return ResponseNorm(size, alpha, beta, k)


def pooling(layer):
    p = one(layer, 'pooling_param')
    if one(p, 'global_pooling', False):
        return lambda x: F.adaptive_avg_pool2d(x, 1)
    k, s, pad = pair(p, 'kernel', 0), pair(p, 'stride', 1), pair(p, 'pad', 0)
    pool = F.avg_pool2d if one(p, 'pool', 'MAX') == 'AVE' else F.max_pool2d
    return lambda x: pool(x, k, s, pad, ceil_mode=True)


def softmax_loss(layer):
    weight = one(layer, 'loss_weight', 1.0)
    return lambda x, label: F.cross_entropy(x.flatten(1), label) * weight


WITHOUT_WEIGHTS = {
    'LRN': response_norm,
    'Dropout': lambda layer: torch.nn.Dropout(one(one(layer, 'dropout_param', {}), 'dropout_ratio', 0.5)),
    'ReLU': lambda layer: lambda x: F.relu(x, inplace=True),
    'ReLU6': lambda layer: lambda x: F.relu6(x, inplace=True),
    'Flatten': lambda layer: lambda x: x.flatten(1),
    'Pooling': pooling,
    'Concat': lambda layer: lambda *x: torch.cat(x, 1),
    'Eltwise': lambda layer: lambda a, b: a + b,
    'Flatten': lambda layer: lambda x: x.flatten(1),
    'EuclideanLoss': lambda layer: lambda a, b: ((a - b) ** 2).sum() / (2 * a.shape[0]),
    'Softmax': lambda layer: lambda x: F.softmax(x, 1),
    'SoftmaxWithLoss': softmax_loss}


class Net(torch.nn.Module):
    """Runs the layers in order. Returns the sum of the losses, or the last top without losses."""

    def __init__(self, layers, weights):
        super().__init__()
        self.steps, self.losses = [], []
        self.kept = torch.nn.ModuleList()
        while layers:
            layer, *layers = layers
            kind = one(layer, 'type')
            if kind in ('Input', 'DummyData'):
                continue
            tensors = [torch.from_numpy(array) for array in weights.blobs(one(layer, 'name'))]
            bottoms = layer['bottom']
            if kind == 'BatchNorm':  # merged with the following Scale into one module
                layer, *layers = layers
                scale = [torch.from_numpy(array) for array in weights.blobs(one(layer, 'name'))]
            step = self.make(kind, layer, tensors, scale if kind == 'BatchNorm' else None)
            if isinstance(step, torch.nn.Module):
                self.kept.append(step)
            self.steps.append((step, bottoms, one(layer, 'top')))
            if kind.endswith('Loss'):
                self.losses.append(one(layer, 'top'))

    @staticmethod
    def make(kind, layer, tensors, scale):
        if kind == 'Convolution':
            return convolution(layer, tensors)
        if kind == 'InnerProduct':
            return InnerProduct(tensors)
        if kind == 'LSTM':
            return Lstm(tensors)
        if kind == 'BatchNorm':
            return batch_norm(layer, tensors, scale)
        if kind not in WITHOUT_WEIGHTS:
            raise SystemExit('unsupported layer type ' + kind)
        return WITHOUT_WEIGHTS[kind](layer)

    def forward(self, data, label=None):
        blobs = {'data': data, 'label': label}
        for step, bottoms, top in self.steps:
            blobs[top] = step(*[blobs.get(b) for b in bottoms])
        return sum(blobs[top] for top in self.losses) if self.losses else blobs[self.steps[-1][2]]


def layers_of(path):
    with open(path) as file:
        return prototxt.parse(file.read())['layer']


def input_shapes(path):
    """The shapes of the net's inputs."""
    inputs = [layer for layer in layers_of(path) if one(layer, 'type') == 'Input']
    return [[int(dim) for dim in shape['dim']] for layer in inputs for shape in one(layer, 'input_param')['shape']]


def prepare(threads):
    torch.set_num_threads(threads)
    torch.manual_seed(1)


def sgd(parameters, rate):
    options = dict(lr=rate, momentum=0.9, weight_decay=0.0005)
    parameters = list(parameters)
    try:  # the fused update of all weights, if this version has it
        return torch.optim.SGD(parameters, fused=True, **options)
    except TypeError:
        return torch.optim.SGD(parameters, foreach=True, **options)


def compiled(net, setting):
    if 'compiled' not in setting:
        return net
    return torch.compile(net, mode='max-autotune' if 'autotuned' in setting else None)


def in_format(value, setting):
    """Converts a net or a batch to the setting's memory format; sequences have only one."""
    if 'channels_last' not in setting or (torch.is_tensor(value) and value.dim() != 4):
        return value
    return value.to(memory_format=torch.channels_last)
