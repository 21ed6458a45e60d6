#!/usr/bin/python3
"""Runs a layer that is written in Python, using only the module caffe; for clean machines."""
import numpy as np
import caffe

with open('written.py', 'w') as file:
    file.write('''import caffe
class Half(caffe.Layer):
    def setup(self, bottom, top): pass
    def reshape(self, bottom, top): top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top): top[0].data[...] = bottom[0].data / 2
    def backward(self, top, propagate_down, bottom): bottom[0].diff[...] = top[0].diff / 2
''')
with open('written.prototxt', 'w') as file:
    file.write('''layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "half" type: "Python" bottom: "x" top: "y" python_param { module: "written" layer: "Half" } }
''')
net = caffe.Net('written.prototxt', caffe.TEST)
net.blobs['x'].data[...] = np.arange(6).reshape(2, 3)
halves = net.forward()['y']
assert (halves == np.arange(6).reshape(2, 3) / 2).all(), halves
print('a layer in Python runs')
