"""The names of pycaffe after `import caffe` alone, each group in a fresh process, and what the objects do."""
import os, subprocess, sys

import pytest

from tests.python.built_module import use_built_module

use_built_module()

NET = '''layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 2 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 3
  weight_filler { type: "constant" value: 1 } } }
layer { name: "loss" type: "Reduction" bottom: "y" top: "loss" loss_weight: 2 }
'''
MEMORY = '''layer { name: "data" type: "MemoryData" top: "data" top: "label"
  memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
'''
SOLVER = 'net: "net" base_lr: 0.5 lr_policy: "fixed" max_iter: 7 snapshot_prefix: "s" device_id: %s\n'
COLOURS = '''layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 10 dim: %d dim: 4 dim: 6 } } }
layer { name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param { pool: AVE global_pooling: true } }
'''
LAYER = '''from caffe._caffe import BlobVec, Layer, RawBlobVec

class Mine(Layer):
    def setup(self, bottom, top):
        assert type(bottom) is type(top) is RawBlobVec and type(self.blobs) is BlobVec and not self.blobs
        self.blobs.add_blob(2)
    def reshape(self, bottom, top): top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top): top[0].data[...] = 3 * bottom[0].data
    def backward(self, top, propagate_down, bottom): pass
'''

GROUPS = {
    'the package': '''
for name in ('protobuf', '_pb2'): assert not [each for each in sys.modules if name in each], 'import takes long'
assert caffe.TRAIN == 0 and caffe.TEST == 1 and caffe.__version__ == caffe._caffe.__version__
assert caffe.has_nccl() is False and caffe.solver_count() == 1 and caffe.solver_rank() == 0
caffe.set_solver_count(1); caffe.set_solver_rank(0); caffe.set_multiprocess(True); caffe.set_multiprocess(False)
for call in (caffe.set_solver_count, caffe.set_solver_rank):
    with refused(NotImplementedError, 'one process'): call(2)
caffe.init_log(); caffe.init_log(1); caffe.init_log(2, True); caffe.log('words')
caffe.set_device(0); caffe.set_mode_gpu(); caffe.set_mode_cpu(); caffe.set_random_seed(3)
assert {'ReLU', 'Python'} <= set(caffe.layer_type_list())
timer = caffe.Timer(); timer.start(); timer.stop(); assert timer.ms >= 0
assert issubclass(caffe.Classifier, caffe.Net) and issubclass(caffe.Detector, caffe.Net)
assert caffe.layers.ReLU and caffe.params.Pooling.MAX == 0 and caffe.NetSpec and caffe.to_proto
for part in ('_caffe', 'pycaffe', 'proto', 'classifier', 'detector', 'io', 'net_spec', 'draw', 'coord_map'):
    assert getattr(caffe, part).__name__ == 'caffe.' + part
namespace = {}
exec('from caffe import *', namespace)
assert namespace['Net'] is caffe.Net and namespace['NCCL'] is caffe.NCCL and namespace['io'] is caffe.io
''',
    'the compiled module': '''
net = caffe.Net('net', caffe.TEST)
C = caffe._caffe
for name in ('Net', 'Layer', 'NCCL', 'Timer', 'SGDSolver', 'NesterovSolver', 'AdaGradSolver', 'RMSPropSolver',
             'AdaDeltaSolver', 'AdamSolver', 'get_solver', 'init_log', 'log', 'has_nccl', 'set_mode_cpu',
             'set_mode_gpu', 'set_device', 'set_random_seed', 'layer_type_list', 'solver_count', 'set_solver_count',
             'solver_rank', 'set_solver_rank', 'set_multiprocess'):
    assert getattr(C, name) is getattr(caffe, name), name
for name in ('BlobVec', 'RawBlobVec', 'LayerVec', 'StringVec', 'IntVec', 'DtypeVec', 'NetVec', 'BoolVec'):
    assert issubclass(getattr(C, name), list), name
with refused(AttributeError, 'nonsense'): C.nonsense
assert {'Net', 'BlobVec', 'SolverParameter'} <= set(dir(C))
assert type(net.params['ip']) is C.BlobVec and type(net.layers) is C.LayerVec and type(net._blobs) is C.BlobVec
assert type(net._blob_names) is type(net._layer_names) is C.StringVec and type(net._inputs) is C.IntVec
assert type(net._blob_loss_weights) is C.DtypeVec and net._blob_loss_weights == [0, 0, 2]
assert type(net.blobs['x']) is C.Blob is type(net.params['ip'][0]) and type(net._outputs) is C.IntVec
assert all(isinstance(layer, caffe.Layer) for layer in net.layers) and type(net.layers[1].blobs) is C.BlobVec
assert [len(layer.blobs) for layer in net.layers] == [0, 2, 0]
with refused(ValueError, 'setup'): net.params['ip'].add_blob(3)
assert [blob.shape for blob in net._blobs] == [(2, 2), (2, 3), ()]
namespace = {}
exec('from caffe._caffe import *', namespace)
assert namespace['Net'] is caffe.Net and namespace['Blob'] is C.Blob
import os
open('mine.py', 'w').write(LAYER)
open('python', 'w').write(open('net').read() + \'\'\'layer { name: "mine" type: "Python" bottom: "x" top: "z"
  python_param { module: "mine" layer: "Mine" } }\'\'\')
sys.path.insert(0, os.getcwd())
net = caffe.Net('python', caffe.TEST)
assert (net.forward(x=np.ones((2, 2)))['z'] == 3).all() and type(net.params['mine']) is C.BlobVec
assert isinstance(net.layers[3].blobs[0], C.Blob) and type(net.layers[3].blobs) is C.BlobVec
''',
    'pycaffe': '''
for name in ('Net', 'SGDSolver', 'NesterovSolver', 'AdaGradSolver', 'RMSPropSolver', 'AdaDeltaSolver', 'AdamSolver',
             'NCCL', 'Timer', '_caffe'):
    assert getattr(caffe.pycaffe, name) is getattr(caffe, name), name
from caffe.pycaffe import *
solver = SGDSolver('solver')
assert type(solver.test_nets) is caffe._caffe.NetVec and type(solver.net) is Net is caffe._caffe.Net
assert isinstance(solver, caffe._caffe.Solver) and isinstance(solver.param, caffe._caffe.SolverParameter)
assert solver.max_iter == 7 and solver.iter == 0 and solver.param.base_lr == 0.5 and OrderedDict
uid = caffe.NCCL.new_uid()
assert uid and uid != NCCL.new_uid()
nccl = caffe.NCCL(solver, uid)
nccl.bcast(); nccl.broadcast(); solver.add_callback(nccl); solver.net.after_backward(nccl)
solver.step(1)
assert solver.iter == 1
with refused(RuntimeError, 'share'): solver.share_weights(Net('net', caffe.TEST))
solver.net.after_forward(print)
for train in (lambda: solver.step(1), solver.solve):
    with refused(NotImplementedError, 'callbacks'): train()
''',
    'io': '''
io, draws = caffe.io, np.random.default_rng(1)
values = draws.random((2, 3, 4, 5)).astype(np.float32)
blob = io.array_to_blobproto(values, diff=-values)
assert isinstance(blob, caffe.proto.caffe_pb2.BlobProto) is isinstance(blob, io.caffe_pb2.BlobProto) is True
assert (io.blobproto_to_array(blob) == values).all() and (io.blobproto_to_array(blob, True) == -values).all()
old = io.caffe_pb2.BlobProto(num=1, channels=2, height=1, width=2, data=range(4))
assert io.blobproto_to_array(old).tolist() == [[[[0, 1]], [[2, 3]]]]
both = io.blobprotovector_str_to_arraylist(io.arraylist_to_blobprotovector_str([values, values[0]]))
assert (both[0] == values).all() and (both[1] == values[0]).all() and len(both) == 2
grey = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
datum = io.array_to_datum(grey, label=4)
assert datum.label == 4 and datum.data == bytes(range(6)) and (io.datum_to_array(datum) == grey).all()
assert io.datum_to_array(io.array_to_datum(values[0])).tolist() == values[0].tolist()
with refused(ValueError, '3 axes'): io.array_to_datum(values)
open('i.ppm', 'wb').write(b'P6 2 1 255 ' + bytes([0, 51, 102, 153, 204, 255]))
assert np.allclose(io.load_image('i.ppm'), np.arange(6).reshape(1, 2, 3) / 5)
assert io.load_image('i.ppm', color=False).shape == (1, 2, 1)
assert io.resize_image(values[0], (6, 2)).shape == (6, 2, 5)
assert io.oversample([values[0]], (2, 2)).shape == (10, 2, 2, 5)
t = io.Transformer({'data': (1, 3, 4, 5)})
assert t.inputs == {'data': (1, 3, 4, 5)}
t.set_transpose('data', (2, 0, 1)); t.set_channel_swap('data', (2, 0, 1)); t.set_raw_scale('data', 255)
t.set_mean('data', np.array([1., 2, 3])); t.set_input_scale('data', 0.5)
assert tuple(t.transpose['data']) == (2, 0, 1) and tuple(t.channel_swap['data']) == (2, 0, 1)
assert t.raw_scale['data'] == 255 and t.mean['data'].shape == (3, 1, 1) and t.input_scale['data'] == 0.5
image = draws.random((4, 5, 3))
seen = t.preprocess('data', image)
right = (image[:, :, [2, 0, 1]] * 255 - [1, 2, 3]) * 0.5
assert np.allclose(seen, right.transpose(2, 0, 1), atol=1e-4)
assert np.allclose(t.deprocess('data', seen), image, atol=1e-5)
assert np.allclose(t.deprocess('data', seen[None]), image, atol=1e-5)
for call in (lambda: t.preprocess('x', image), lambda: t.set_transpose('data', (0, 1)),
             lambda: t.set_channel_swap('data', (0, 1)), lambda: t.set_mean('data', np.ones(2))):
    with refused(Exception, 'x|axes|channels'): call()
one = io.Transformer({'data': (1, 1, 4, 5)})
one.set_transpose('data', (2, 0, 1))
assert one.deprocess('data', one.preprocess('data', image[:, :, :1])).shape == (4, 5, 1)
''',
    'sizes of images': '''
resize, ramp = caffe.io.resize, np.arange(4.)
assert resize(np.zeros((4, 5, 3)), (2, 2, 3)).shape == resize(np.zeros((4, 5, 3)), (2, 2)).shape == (2, 2, 3)
assert resize(np.zeros((4, 5)), (2, 3)).shape == (2, 3) and resize(np.zeros((4, 5)), (2, 3, 1)).shape == (2, 3, 1)
assert np.allclose(resize(np.full((3, 3), 51, np.uint8), (2, 5)), 0.2)
assert np.allclose(resize(np.full((3, 3), 51, np.uint8), (2, 5), preserve_range=True), 51)
for given, kind in ((np.float32, np.float32), (int, float)): assert resize(np.ones((3, 3), given), (6, 6)).dtype == kind
assert np.allclose(resize(ramp, (2,)), [0.5, 2.5])
inner = [0.25, 0.75, 1.25, 1.75, 2.25, 2.75]
for mode, first, last in (('reflect', 0.25, 2.75), ('symmetric', 0, 3), ('edge', 0, 3), ('wrap', 0.75, 2.25),
                          ('constant', 0.25 * 8, 0.75 * 3 + 0.25 * 8)):
    assert np.allclose(resize(ramp, (8,), mode=mode, cval=8), [first] + inner + [last]), mode
assert np.allclose(resize(ramp, (8,)), [0.25] + inner + [2.75]) and np.allclose(resize(ramp[:1], (3,)), 0)
assert resize(ramp, (8,), order=0).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
colours = resize(np.tile(np.array([0., 3, 6]), (2, 2, 1)), (2, 2, 6), mode='edge')
assert np.allclose(colours[0, 0], [0, 0.75, 2.25, 3.75, 5.25, 6])
plane = np.add.outer(np.arange(5.) * 10, np.arange(7.))[:, :, None]  # bilinear is exact on planes, but at the ends
rows, columns = (np.arange(3) + 0.5) * 5 / 3 - 0.5, (np.arange(9) + 0.5) * 7 / 9 - 0.5
right = np.add.outer(rows * 10, np.clip(columns, 0, 6))
assert np.allclose(caffe.io.resize_image(plane, (3, 9))[:, :, 0], right, atol=1e-4)
assert np.allclose(resize(plane, (3, 9, 1), mode='edge')[:, :, 0], right)
assert (caffe.io.resize_image(plane, (5, 14), interp_order=0)[:, ::2] == plane).all()
for call in (lambda: resize(ramp, (2,), order=3), lambda: resize(ramp, (2,), anti_aliasing=True),
             lambda: caffe.io.resize_image(plane, (2, 2), 3)):
    with refused(NotImplementedError, 'scipy|skimage'): call()
with refused(ValueError, 'one of'): resize(ramp, (2,), mode='mirror')
''',
    'net_spec': '''
S, L, P = caffe.net_spec, caffe.layers, caffe.params
assert isinstance(L, S.Layers) and isinstance(P, S.Parameters) and S.layers is L and S.params is P
names = S.param_name_dict()
assert names['Convolution'] == 'convolution' and names['InnerProduct'] == 'inner_product' and names['LRN'] == 'lrn'
layer = S.caffe_pb2.LayerParameter()
S.assign_proto(layer, 'name', 'c')
S.assign_proto(layer, 'bottom', 'a')
S.assign_proto(layer, 'top', ['b', 'c'])
S.assign_proto(layer, 'param', [dict(lr_mult=1), dict(lr_mult=2)])
S.assign_proto(layer, 'convolution_param', dict(kernel_size=3, pad=[1, 2], engine='CUDNN', weight_filler=dict(std=2)))
S.assign_proto(layer, 'phase', caffe.TEST)
conv = layer.convolution_param
assert layer.name == 'c' and list(layer.bottom) == ['a'] and list(layer.top) == ['b', 'c'] and layer.phase == 1
assert [each.lr_mult for each in layer.param] == [1, 2] and list(conv.kernel_size) == [3] and list(conv.pad) == [1, 2]
assert conv.engine == conv.CUDNN and conv.weight_filler.std == 2
with refused(AttributeError, 'no field'): S.assign_proto(layer, 'nonsense', 1)
n = S.NetSpec()
n.data, n.label = L.DummyData(shape=[dict(dim=[2, 3]), dict(dim=[2])], ntop=2)
assert isinstance(n.data, S.Top) and isinstance(n.data.fn, S.Function) and (n.label.n, n.label.fn) == (1, n.data.fn)
assert n.data.fn.type_name == 'DummyData' and n.data.fn.ntop == 2 and n.data.fn.tops == (n.data, n.label)
n.ip = L.InnerProduct(n.data, num_output=2)
assert n.ip.fn.params == dict(num_output=2) and n.ip.fn.inputs == (n.data,) and not n.ip.fn.in_place
n.ip._update(dict(num_output=5, bias_term=False))
n['act'] = L.ReLU(n.ip, in_place=True)
n.gone = L.ReLU(n.ip)
del n.gone
message = n.to_proto()
assert [each.name for each in message.layer] == ['data', 'ip', 'act'] and list(n.tops) == ['data', 'label', 'ip', 'act']
assert message.layer[1].inner_product_param.num_output == 5 and list(message.layer[2].top) == ['ip']
for message in (S.to_proto(n.ip), n.ip.to_proto()):
    assert [each.type for each in message.layer] == ['DummyData', 'InnerProduct']
assert P.Pooling.AVE == 1 and P.Data.LMDB == 1
''',
    'draw': '''
L, D, pb = caffe.layers, caffe.draw, caffe.proto.caffe_pb2
assert D.get_pooling_types_dict() == {0: 'MAX', 1: 'AVE', 2: 'STOCHASTIC'}
n = caffe.NetSpec()
n.data, n.label = L.Data(batch_size=7, source='x', ntop=2, include=dict(phase=caffe.TRAIN))
n.conv = L.Convolution(n.data, num_output=4, kernel_size=3, stride=[2, 1], pad_h=1, param=[dict(lr_mult=3)])
n.relu = L.ReLU(n.conv, in_place=True)
n.pool = L.Pooling(n.conv, kernel_size=2, stride=2, pool=1)
n.ip = L.InnerProduct(n.pool, num_output=9, param=[dict(lr_mult=3), dict(lr_mult=4)])
message = n.to_proto()
data, conv, relu, pool, ip = message.layer
assert [D.get_edge_label(each) for each in message.layer] == ['Batch 7', '4', '""', '""', '9']
assert [D.get_layer_lr_mult(each) for each in (conv, ip)] == [(3, 1), (3, 4)]
assert D.get_layer_lr_mult(pb.LayerParameter(type='Deconvolution')) == (1, 1)
with refused(ValueError, 'Pooling'): D.get_layer_lr_mult(pool)
assert D.get_layer_label(relu, 'TB') == '"relu (ReLU)"'
assert D.get_layer_label(relu, 'LR') == '"relu' + chr(92) + 'n(ReLU)"'
assert D.get_layer_label(pool, 'BT') == '"pool (AVE Pooling) kernel size: 2 stride: 2 pad: 0"'
assert D.get_layer_label(conv, 'TB') == '"conv (Convolution) kernel size: 3 stride: 2x1 pad: 1x0"'
assert D.get_layer_label(ip, 'TB', display_lrm=True) == '"ip (InnerProduct) lr mult: 3, 4"'
colors = {kind: D.choose_color_by_layertype(kind) for kind in ('Convolution', 'Pooling', 'InnerProduct', 'ReLU')}
assert len(set(colors.values())) == 4 and D.choose_color_by_layertype('Deconvolution') == colors['Convolution']
sys.modules['pydot'] = None
with refused(ImportError, 'pydot'): D.get_pydot_graph(message, 'LR')


class Recorder:  # of pydot
    def __init__(self, *names, **options): self.names, self.options, self.nodes, self.edges = names, options, {}, {}
    def add_node(self, node): self.nodes[node.names[0]] = node.options
    def add_edge(self, edge): self.edges[edge.names] = edge.options['label']


import types
sys.modules['pydot'] = types.SimpleNamespace(Dot=Recorder, Node=Recorder, Edge=Recorder)
graph = D.get_pydot_graph(message, 'LR', phase=caffe.TRAIN)
assert graph.options == dict(graph_type='digraph', rankdir='LR') and graph.names == ('Net',)
assert set(graph.nodes) == {'data_Data', 'conv_Convolution', 'relu_ReLU', 'pool_Pooling', 'ip_InnerProduct',
                            'data_blob', 'label_blob', 'conv_blob', 'pool_blob', 'ip_blob'}
assert graph.edges[('conv_Convolution', 'conv_blob')] == '4' and graph.edges[('data_blob', 'conv_Convolution')] == '""'
assert {('conv_blob', 'relu_ReLU'), ('relu_ReLU', 'conv_blob')} <= set(graph.edges)
assert graph.nodes['conv_Convolution']['fillcolor'] == colors['Convolution'] != graph.nodes['relu_ReLU']['fillcolor']
assert set(D.get_pydot_graph(message, 'LR', label_edges=False).edges.values()) == {'""'}
assert 'data_Data' not in D.get_pydot_graph(message, 'LR', phase=caffe.TEST).nodes
assert D.draw_net(message, 'LR', 'svg').startswith(b'<') and D.draw_net(message).startswith(bytes([0x89]) + b'PNG')
D.draw_net_to_file(message, 'n.dot', 'TB', caffe.TEST)
assert 'conv' in open('n.dot').read()
''',
    'classifiers and detectors': '''
for channels in (1, 3):
    open('c', 'w').write(COLOURS % channels)
    caffe.Net('c', caffe.TEST).save('w')
    classifier = caffe.classifier.Classifier('c', 'w', image_dims=np.array([8, 9]), raw_scale=2)
    assert list(classifier.crop_dims) == [4, 6] and list(classifier.image_dims) == [8, 9]
    assert isinstance(classifier.transformer, caffe.io.Transformer) and classifier.transformer.raw_scale == {'data': 2}
    detector = caffe.detector.Detector('c', 'w', mean=np.arange(channels) + 1., context_pad=1)
    assert detector.context_pad == 1 and list(detector.input_dims) == [4, 6, channels]
    assert detector.crop_mean.shape == (4, 6, channels) and (detector.crop_mean[1, 2] == np.arange(channels) + 1).all()
    image = np.zeros((4, 6, channels), np.float32)
    assert np.allclose(detector.crop(image, (0, 0, 4, 6))[0, 0], np.arange(channels) + 1)  # beyond the image
    detector.configure_crop(0)
    assert detector.context_pad == 0 and detector.crop(image, (1, 2, 3, 5)).shape == (2, 3, channels)
    assert caffe.Detector('c', 'w').context_pad == 0
open('i.ppm', 'wb').write(b'P6 3 2 255 ' + bytes([255, 0, 51] * 6))
found = caffe.Detector('c', 'w').detect_windows([('i.ppm', [(0, 0, 2, 3), (0, 1, 1, 2)])])
assert [each['window'] for each in found] == [(0, 0, 2, 3), (0, 1, 1, 2)] and found[0]['filename'] == 'i.ppm'
for each in found: assert np.allclose(each['prediction'], [1, 0, 0.2])
with refused(NotImplementedError, 'detect_windows'): detector.detect_selective_search(['i.ppm'])
''',
    'coord_map': '''
M, L = caffe.coord_map, caffe.layers
n = caffe.NetSpec()
n.data = L.Input(shape=dict(dim=[1, 1, 9, 9]))
n.conv = L.Convolution(n.data, num_output=1, kernel_size=3, stride=2, pad=1, dilation=2)
n.pool = L.Pooling(n.conv, kernel_size=3, stride=1)
n.cut = L.Crop(n.data, n.pool, axis=2, offset=[1, 2])
axis, stride, extent, pad = M.conv_params(n.conv.fn)
assert (axis, stride.tolist(), extent.tolist(), pad.tolist()) == (1, [2], [5], [1])
assert [each.tolist() for each in M.conv_params(n.pool.fn)[1:]] == [[1], [3], [0]]
other = L.Convolution(n.data, convolution_param=dict(kernel_size=[3, 5], axis=2), num_output=1)
assert M.conv_params(other.fn)[0] == 2 and M.conv_params(other.fn)[2].tolist() == [3, 5]
axis, offset = M.crop_params(n.cut.fn)
assert axis == 2 and offset.tolist() == [1, 2] and M.crop_params(L.Crop(n.data, n.pool).fn)[1].tolist() == [0]
assert M.coord_map(n.conv.fn) == (1, 0.5, -0.5) and M.inverse((1, 0.5, -0.5)) == (1, 2, 1)
assert M.compose((1, 2, 3), (1, 4, 5)) == (1, 8, 13) and M.coord_map_from_to(n.conv, n.data) == (1, 2, 1)
assert 'ReLU' in M.PASS_THROUGH_LAYERS and M.crop(n.conv, n.pool).fn.type_name == 'Crop'
with refused(M.UndefinedMapException, 'InnerProduct'): M.coord_map(L.InnerProduct(n.data, num_output=1).fn)
with refused(M.AxisMismatchException, 'axes'): M.compose((1, 1, 1), (2, 1, 1))
''',
    'messages': '''
pb = caffe.proto.caffe_pb2
assert pb is caffe.net_spec.caffe_pb2 and pb.TEST == caffe.TEST and pb.Datum(label=3).label == 3
for name in ('NetParameter', 'SolverParameter', 'LayerParameter', 'V1LayerParameter', 'BlobProto', 'BlobProtoVector',
             'BlobShape', 'Datum', 'FillerParameter', 'NetState', 'NetStateRule', 'SolverState', 'ParamSpec'):
    assert getattr(pb, name)().SerializeToString() == b'', name
with refused(AttributeError, 'nonsense'): caffe.proto.nonsense
import pickle  # by multiprocessing
datum = pickle.loads(pickle.dumps(pb.Datum(label=3)))
assert type(datum) is pb.Datum and datum.label == 3
from google.protobuf import text_format
s = pb.SolverParameter()
assert s.device_id == 0 and not s.HasField('device_id')
s.device_id = 2
assert s.device_id == 2 and str(s) == 'device_id: 2\\n' and pb.SolverParameter(device_id=2) == s
s.ClearField('device_id')
text_format.Merge('device_id: 4', s)
assert pb.SolverParameter.FromString(s.SerializeToString()).device_id == 4
text_format.Merge('device_id: 1 device_id: 3', s)  # TSN's
assert s.device_id in (1, 3)
assert caffe.SGDSolver('solver').param.device_id == 0
import cortado
assert caffe.SGDSolver('tsn').param.device_id == 1 and 'device_id: 5' not in cortado.read_solver('tsn')
''',
    'layers by index': '''
net = caffe.Net('net', caffe.TRAIN)
net.blobs['x'].data[...] = [[1, 2], [3, 4]]
assert net._forward(0, 1) == 0 and (net.blobs['y'].data == [[3] * 3, [7] * 3]).all() and net.blobs['loss'].data == 0
assert net._forward(2, 2) == 60 and net.blobs['loss'].data == 30
assert net._forward(0, 2) == 60
assert net._backward(2, 2) is None and (net.blobs['y'].diff == 2).all() and not net.params['ip'][1].diff.any()
net._backward(1, 1)
assert (net.params['ip'][1].diff == 4).all() and (net.params['ip'][0].diff == [[8, 12]] * 3).all()
for call in (lambda: net._forward(0, 3), lambda: net._backward(-1, 0)):
    with refused(IndexError, 'layers 0 to 2'): call()
batches = list(net._batch({'x': np.arange(10).reshape(5, 2)}))
assert [each['x'].tolist() for each in batches] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [0, 0]]]
memory = caffe.Net('memory', caffe.TEST)
data = np.arange(12, dtype=np.float32).reshape(4, 1, 1, 3)
for set_arrays in (memory._set_input_arrays, memory.set_input_arrays):
    set_arrays(data, np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1))
    for first in (0, 2, 0):
        memory._forward(0, 0)
        assert (memory.blobs['data'].data == data[first:first + 2]).all()
        assert memory.blobs['label'].data.ravel().tolist() == [first, first + 1]
'''}
PRELUDE = '''import contextlib, re, sys
import caffe
import numpy as np


@contextlib.contextmanager
def refused(kind, words):
    try:
        yield
    except kind as error:
        assert re.search(words, str(error)), error
        return
    raise AssertionError('no ' + kind.__name__)


COLOURS, LAYER = %r, %r
''' % (COLOURS, LAYER)


@pytest.mark.parametrize('group', GROUPS)
def test_names(group, folder, build):
    files = {'net': NET, 'memory': MEMORY, 'solver': SOLVER % 0, 'tsn': SOLVER % '1 device_id: 5'}
    for name, text in files.items(): (folder / name).write_text(text)
    done = subprocess.run([sys.executable, '-c', PRELUDE + GROUPS[group]], capture_output=True, text=True, cwd=folder,
                          env=dict(os.environ, PYTHONPATH=build + '/python'))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('name', ['caffe.proto.caffe_pb2.Datum()', 'caffe._caffe.BlobVec', 'caffe.pycaffe.Net',
                                  'caffe.io.caffe_pb2', 'caffe.net_spec.Top', 'caffe._caffe.SolverParameter()'])
def test_first_name(name, build):
    """Each is the first that a script asks for."""
    subprocess.run([sys.executable, '-c', 'import caffe; ' + name], check=True,
                   env=dict(os.environ, PYTHONPATH=build + '/python'))
