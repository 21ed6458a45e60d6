#!/usr/bin/python3
"""Trains LeNet on arrays and classifies with it, using only the module cortado; for clean machines."""
import numpy as np
import cortado

LAYERS = '''
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 50 kernel_size: 5 weight_filler { type: "xavier" } } }
layer { name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool2" top: "ip1"
  inner_product_param { num_output: 500 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
'''
INPUT = 'layer { name: "in" type: "Input" top: "data" %s input_param { shape { dim: 32 dim: 1 dim: 28 dim: 28 } %s } }'
draws = np.random.default_rng(1)


def bars(count):
    """Images of bars in four directions, in noise, and their labels."""
    y, x = np.mgrid[0:28, 0:28]
    distances = np.stack([y, x, (y + x) / 2, (y - x) / 2 + 14])
    labels = draws.integers(0, 4, count)
    middles = draws.uniform(9, 19, count)[:, None, None]
    images = (abs(distances[labels] - middles) < 2) + 0.5 * draws.standard_normal((count, 28, 28))
    return images[:, None].astype(np.float32), labels


def write(name, text):
    with open(name, 'w') as file: file.write(text)


write('train.prototxt', INPUT % ('top: "label"', 'shape { dim: 32 }') + LAYERS +
      'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }')
write('deploy.prototxt', INPUT % ('', '') + LAYERS + 'layer { name: "prob" type: "Softmax" bottom: "ip2" top: "prob" }')
write('solver.prototxt', 'net: "train.prototxt" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed" max_iter: 60 '
      'snapshot_prefix: "bars" random_seed: 1')
with cortado.Solver('solver.prototxt', observe=True) as solver:
    while solver.iteration < 60:
        images, labels = bars(32)
        solver.net.set_blob('data', images)
        solver.net.set_blob('label', labels)
        solver.step(1)
    solver.snapshot()
images, labels = bars(200)
scores = cortado.Predictor('deploy.prototxt', 'bars_iter_60.caffemodel').predict(data=images)['prob']
right = (scores.argmax(1) == labels).mean()
print('%.1f %% of 200 bars are classified correctly' % (100 * right))
assert right > 0.95
