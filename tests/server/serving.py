"""A net with random weights, and servers for it."""
import json

import numpy

from tests.harness.servers import Started

NET = '''name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 8 kernel_size: 3 } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
'''
NAMES = ['ape', 'nut', 'Mary', 'Jesus']
SHAPES = {'conv': [(8, 3, 3, 3), (8,)], 'ip': [(4, 288), (4,)]}

def weights(path, seed):
    """Writes random weights for NET as safetensors; returns them."""
    draw, arrays = numpy.random.default_rng(seed), {}
    for layer, shapes in SHAPES.items():
        for name, shape in zip('01', shapes):
            arrays['%s.%s' % (layer, name)] = draw.normal(0, 0.3, shape).astype(numpy.float32)
    header, data = {}, b''
    for name, array in arrays.items():
        header[name] = {'dtype': 'F32', 'shape': array.shape, 'data_offsets': [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    with open(path, 'wb') as file: file.write(len(text).to_bytes(8, 'little') + text + data)
    return arrays

def scores(arrays, images):
    """NET in NumPy with doubles."""
    images = images.astype(float)
    windows = numpy.lib.stride_tricks.sliding_window_view(images, (3, 3), (2, 3))  # N C 6 6 3 3
    conv = numpy.einsum('nchwij,ocij->nohw', windows, arrays['conv.0']) + arrays['conv.1'][:, None, None]
    ip = numpy.maximum(conv, 0).reshape(len(images), -1) @ arrays['ip.0'].T.astype(float) + arrays['ip.1']
    odds = numpy.exp(ip - ip.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)


class Models:
    """A folder of models with version 1 of `small`; add_version() adds others. `arrays` has the weights by version."""
    def __init__(self, path):
        self.path, self.arrays = path, {}
        self.add_version(1)

    def add_version(self, number, model='small'):
        folder = self.path / model / str(number)
        folder.mkdir(parents=True)
        (folder / 'deploy.prototxt').write_text(NET)
        (folder / 'labels.txt').write_text('\n'.join(NAMES) + '\n')
        self.arrays[number] = weights(folder / 'weights.safetensors', number)


class Server(Started):
    """`cortado serve` on free ports."""
    def __init__(self, exe, *flags, models, scheme='http'):
        super().__init__(exe, 'serve', '--port=0', '--grpc-port=0', '--models=%s' % models.path, *flags)
        self.port = int(self.said(self.log, r'HTTP on %s://\S*:(\d+)\n' % scheme)[1])
        self.grpc_port = int(self.said(self.log, r'gRPC on \S*:(\d+)\n')[1])

    def infer(self, images, model='small', **more):
        return self.ask('POST', '/v2/models/%s/infer' % model, {
            'inputs': [{'name': 'data', 'shape': images.shape, 'datatype': 'FP32', 'data': images.ravel().tolist()}],
            **more})


def images(count, seed=0): return numpy.random.default_rng(seed).normal(0, 1, (count, 3, 8, 8)).astype(numpy.float32)
