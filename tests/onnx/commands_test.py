"""A model instead of a net and its weights, in every command that infers; the names of a model and of its inputs and
outputs; preprocessing within the model; usage errors."""
import json, os, re

import pytest

from tests.onnx.random_weights import draw_weights, far, numpy, onnx

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


def kinds(model):
    return [node.op_type for node in onnx.load(model).graph.node]


@pytest.fixture(scope='module', autouse=True)
def nets(run, shared_folder, summary):
    (shared_folder / 'deploy.prototxt').write_text(DEPLOY)
    (shared_folder / 'other.prototxt').write_text(DEPLOY.replace('num_output: 5', 'num_output: 7'))
    (shared_folder / 'train_val.prototxt').write_text(TRAIN + BODY + LOSS)
    draw_weights(summary('deploy.prototxt'), 'net.npz')
    run('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'net.onnx')
    run('convert', 'onnx', 'deploy.prototxt', '--weights=net.npz', '-o', 'folded.onnx', '--fold')


@pytest.fixture(scope='module')
def x():
    return numpy.random.RandomState(5).uniform(-1, 1, (4, 3, 12, 12)).astype('f4')


@pytest.fixture(scope='module')
def ours(infer, nets, x):
    """The net's outputs prob and fc."""
    return infer('deploy.prototxt', 'net.npz', {'data': x}, ['prob', 'fc'])


def test_names_opset_and_open_batch():
    model = onnx.load('net.onnx')
    assert model.opset_import[0].version == 17 and model.graph.name == 'small'
    (data,), (prob,) = model.graph.input, model.graph.output
    sizes = [dim.dim_param or dim.dim_value for dim in data.type.tensor_type.shape.dim]
    assert data.name == 'data' and sizes == ['N', 3, 12, 12] and prob.name == 'prob'
    assert kinds('net.onnx') == ['Conv', 'BatchNormalization', 'Relu', 'Flatten', 'Gemm', 'Softmax']
    assert [node.name for node in model.graph.node] == ['conv', 'bn', 'relu', 'fc/Flatten', 'fc', 'prob']


def test_fold_takes_statistics_into_weights():
    assert kinds('folded.onnx') == ['Conv', 'Relu', 'Flatten', 'Gemm', 'Softmax']


def test_train_val_net_is_deployed_first(run):
    run('convert', 'onnx', 'train_val.prototxt', 'net.npz', '-o', 'trained.onnx')
    assert kinds('trained.onnx')[-2:] == ['Gemm', 'Softmax']


def test_chosen_outputs(run):
    run('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'part.onnx', '--blobs=fc,conv')
    assert [output.name for output in onnx.load('part.onnx').graph.output] == ['fc', 'conv']


@pytest.mark.parametrize('model', ['net.onnx', 'folded.onnx'])
def test_infer(infer, model, ours, x):
    for a, b in zip(infer(model, None, {'data': x}, ['prob', 'fc']), ours): assert far(a, b) < 1e-6


def test_model_is_known_by_its_content(infer, ours, shared_folder, x):
    (shared_folder / 'net.model').write_bytes((shared_folder / 'net.onnx').read_bytes())
    assert far(infer('net.model', None, {'data': x}, ['prob'])[0], ours[0]) < 1e-6


def test_model_becomes_a_net_and_weights(infer, ours, run, x):
    run('convert', 'onnx', 'net.onnx', '-o', 'back.prototxt')
    names = run('convert', 'weights', 'back.caffemodel', '--list').stdout
    for name in ('conv', 'bn ', 'bn_scale', 'fc'): assert name in names
    assert far(infer('back.prototxt', 'net.onnx', {'data': x}, ['prob'])[0], ours[0]) < 1e-6


def test_time_and_summary(run):
    told = json.loads(run('time', '--model=net.onnx', '--phase=TEST', '--iterations=1', '--json').stdout)
    assert told['net'] == 'small'
    assert 'InnerProduct' in run('summary', 'net.onnx').stdout


def test_classify(run):
    pytest.importorskip('cv2').imwrite('image.png',
                                       numpy.random.RandomState(6).randint(0, 256, (12, 12, 3)).astype('u1'))
    lines = [run('classify', '--mean=90,100,110', '--scale=0.02', 'image.png', '--json', *model).stdout
             for model in (('--model=net.onnx',), ('--model=deploy.prototxt', '--weights=net.npz'))]
    first, second = (json.loads(line)['top'] for line in lines)
    assert [guess['label'] for guess in first] == [guess['label'] for guess in second]
    assert all(abs(a['probability'] - b['probability']) < 1e-5 for a, b in zip(first, second))


@pytest.mark.parametrize('rgb', [False, True])
def test_mean_scale_and_colour_order_are_nodes(infer, rgb, run):
    """The imported model does the data layer's preprocessing."""
    pixels = numpy.random.RandomState(7).randint(0, 256, (2, 3, 12, 12)).astype('f4')
    mean = numpy.array([90, 100, 110], 'f4').reshape(3, 1, 1)
    wanted = infer('deploy.prototxt', 'net.npz', {'data': (pixels - mean) * 0.02}, ['fc'])[0]
    run('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'pixels.onnx', '--like=train_val.prototxt',
        '--blobs=fc', '--force', *(['--rgb'] if rgb else []))
    onnx.checker.check_model('pixels.onnx')
    given = numpy.ascontiguousarray(pixels[:, ::-1]) if rgb else pixels
    assert far(infer('pixels.onnx', None, {'data': given}, ['fc'])[0], wanted) < 1e-5
    net = pytest.importorskip('cv2').dnn.readNetFromONNX('pixels.onnx')
    net.setInput(given, 'data')
    assert far(net.forward('fc'), wanted) < 1e-5


def test_values_in_an_external_file(infer):
    onnx.save_model(onnx.load('net.onnx'), 'apart.onnx', save_as_external_data=True, location='apart.values',
                    size_threshold=0)
    assert os.path.getsize('apart.values') > 1000
    x = numpy.ones((1, 3, 12, 12), 'f4')
    a, b = (infer(name, None, {'data': x}, ['prob'])[0] for name in ('apart.onnx', 'net.onnx'))
    assert (a == b).all()


@pytest.mark.parametrize('code, word, arguments', [
    (5, '--force', 'deploy.prototxt net.npz -o net.onnx'),
    (2, 'weights are missing', 'deploy.prototxt -o new.onnx'),
    (2, '--blobs is for exporting a model', 'net.onnx -o new.prototxt --blobs=fc'),
    (2, 'cannot be written as .h5', 'deploy.prototxt net.npz -o new.h5'),
    (2, '--rgb requires --like', 'deploy.prototxt net.npz -o new.onnx --rgb'),
    (2, 'nothing', 'deploy.prototxt net.npz -o new.onnx --blobs=nothing'),
    (5, 'the file does not exist', 'absent.prototxt net.npz -o new.onnx'),
    (5, 'absent.npz', 'deploy.prototxt absent.npz -o new.onnx'),
    (5, 'folder', 'deploy.prototxt net.npz -o folder/new.onnx'),
    (8, 'fc', 'other.prototxt net.npz -o new.onnx'),
    (3, 'not an ONNX model', 'deploy.prototxt -o new.prototxt'),
    (2, 'transform_param', 'deploy.prototxt net.npz -o new.onnx --like=deploy.prototxt'),
])
def test_error_leaves_no_file(run, shared_folder, code, word, arguments):
    assert word in run('convert', 'onnx', *arguments.split(), code=code).stderr
    assert not list(shared_folder.glob('new.*'))


def test_net_without_weights_is_an_error(ours, run):
    run('infer', '--model=deploy.prototxt', '--input', 'data=in0.npy', '--output', 'prob=y.npy', code=2)


def test_shapes_fill_in_extents_that_are_open(run):
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, ['n', 3, 'h', 'w']) for name in 'xy')
    graph = helper.make_graph([helper.make_node('Relu', ['x'], ['y'])], 'open', [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)]), 'open.onnx')
    into = ['convert', 'onnx', 'open.onnx', '-o', 'open.prototxt', '--force']
    for shape in ('x=2,3,32,48', '2x3x32x48'):
        run(*into, '--shape', shape)
        assert [int(dim) for dim in re.findall(r'dim: (\d+)', open('open.prototxt').read())] == [2, 3, 32, 48]
    for shape, words in (('x=1,4,32,32', 'is ?x3x?x? in the model'), ('z=1,3,8,8', "'z' is not an input"),
                         ('x=1,3,8', 'is ?x3x?x?'), ('x=1,3,0,8', 'at least 1'), ('x=', 'at least 1')):
        assert words in run(*into, '--shape', shape, code=2).stderr


def test_commands_take_the_shapes_of_a_model_and_its_weights(run, infer):
    """The width decides the weights: a resizing matrix."""
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, ['n', 3, 'h', 'w']) for name in 'xy')
    sizes = helper.make_tensor('s', 1, [4], [1, 1, 1, 1.5])
    node = helper.make_node('Resize', ['x', '', 's'], ['y'], mode='linear')
    graph = helper.make_graph([node], 'wide', [x], [y], [sizes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)]), 'wide.onnx')
    run('convert', 'onnx', 'wide.onnx', '-o', 'wide.prototxt', '--shape', '1,3,4,6')
    values = numpy.random.RandomState(2).normal(0, 1, (1, 3, 4, 6)).astype('f4')
    (wanted,) = infer('wide.prototxt', 'wide.caffemodel', {'x': values}, ['y'])
    run('infer', 'wide.onnx', '-i', 'x=in0.npy', '-o', 'y=y.npy', '--shape', 'x=1,3,4,6')
    assert numpy.array_equal(numpy.load('y.npy'), wanted)
    for command in 'summary', 'draw', 'plan', 'time':
        more = {'time': ['--phase=TEST'], 'draw': ['--output=wide.svg']}.get(command, [])
        said = run(command, 'wide.onnx', *more, code=3).stderr
        assert '--shape=x=1,3,224,224' in said
        run(command, 'wide.onnx', '--shape=1,3,4,6', *more)
    assert 'is for ONNX models' in run('summary', 'deploy.prototxt', '--shape=1,3,4,6', code=2).stderr


def test_batch_of_the_net(run):
    """An open batch is 1 by default; a model that takes only its own batch refuses others."""
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, 1, ['n', 4]) for name in 'xy')
    for name, nodes in (('any', [helper.make_node('Relu', ['x'], ['y'])]),
                        ('own', [helper.make_node('Squeeze', ['x'], ['s'], axes=[0]),
                                 helper.make_node('Relu', ['s'], ['y'])])):
        graph = helper.make_graph(nodes, name, [x], [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 11)]), name + '.onnx')
    for flags, batch in ((), '1'), (('--batch=8',), '8'):
        run('convert', 'onnx', 'any.onnx', '-o', 'any.prototxt', '--force', *flags)
        assert re.findall(r'dim: (\d+)', open('any.prototxt').read()) == [batch, '4']
    said = run('convert', 'onnx', 'own.onnx', '-o', 'own.prototxt', '--batch=8', code=2).stderr
    assert "takes only the model's own batch size" in said and 'Squeeze' in said and not os.path.exists('own.prototxt')


def shape_of(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_set_and_shape_change_the_exported_net(run, infer, x, shared_folder):
    run('convert', 'onnx', 'deploy.prototxt', 'net.npz', '-o', 'set.onnx', '--set=net.layer[relu].type=Sigmoid',
        '--set', 'net.layer[prob].softmax_param.axis=1')
    assert 'Relu' not in kinds('set.onnx') and 'Sigmoid' in kinds('set.onnx')
    (shared_folder / 'free.prototxt').write_text(TRAIN.replace('crop_size: 12', '') + BODY + LOSS)
    sides = '--shape=1,3,12,12', '--set=net.name=other'
    run('convert', 'onnx', 'free.prototxt', 'net.npz', '-o', 'free.onnx', *sides)
    model = onnx.load('free.onnx')
    assert shape_of(model.graph.input[0])[1:] == [3, 12, 12] and model.graph.name == 'other'
    wanted, = infer('deploy.prototxt', 'net.npz', {'data': x}, ['prob'])
    got, = infer('free.onnx', None, {'data': x}, [model.graph.output[0].name])
    assert far(got, wanted) < 1e-5
    run('convert', 'onnx', 'free.prototxt', 'net.npz', '-o', 'free.onnx', '--force', '--verify', *sides)
    assert '--set is for exporting' in run('convert', 'onnx', 'free.onnx', '-o', 'y.prototxt', '--set=net.name=a',
                                           code=2).stderr
    said = run('convert', 'onnx', 'free.prototxt', 'net.npz', '-o', 'y.onnx', '--set=net.nome=a', code=3).stderr
    assert "did you mean 'name'?" in said
