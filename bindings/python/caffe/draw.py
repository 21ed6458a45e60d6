"""caffe.draw: pictures of nets, with the program's command `draw`, and graphs for pydot."""
import os
import tempfile

from google.protobuf import text_format

from cortado import program

from .proto import caffe_pb2

_COLORS = {'Convolution': '#FF5050', 'Deconvolution': '#FF5050', 'Pooling': '#FF9900', 'InnerProduct': '#CC33FF'}
_WITH_WEIGHTS = ('Convolution', 'Deconvolution', 'InnerProduct')


def draw_net_to_file(caffe_net, filename, rankdir='LR', phase=None, display_lrm=False):
    """Draws a NetParameter message: .svg, .png or .dot chosen by the file name."""
    del display_lrm  # the picture always has the learning rates
    with tempfile.NamedTemporaryFile('w', suffix='.prototxt') as file:
        file.write(text_format.MessageToString(caffe_net))
        file.flush()
        command = ['draw', '--model=' + file.name, os.path.abspath(filename), '--rankdir=' + rankdir, '--force']
        program.run(*command, *(['--phase=' + ('TEST' if phase == 1 else 'TRAIN')] if phase is not None else []))


def draw_net(caffe_net, rankdir='LR', ext='png', phase=None, display_lrm=False):
    """The picture's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'net.' + ext)
        draw_net_to_file(caffe_net, path, rankdir, phase, display_lrm)
        with open(path, 'rb') as file:
            return file.read()


# Graphs for pydot, and what they are made of

def get_pooling_types_dict():
    """The names of the kinds of pooling, by number."""
    kinds = caffe_pb2.PoolingParameter.PoolMethod.DESCRIPTOR
    return {kind.number: kind.name for kind in kinds.values}


def get_edge_label(layer):
    """What a layer makes: the size of its batch or the number of its channels; '""' of other layers."""
    if layer.type == 'Data':
        return 'Batch %d' % layer.data_param.batch_size
    if layer.type in ('Convolution', 'Deconvolution'):
        return str(layer.convolution_param.num_output)
    if layer.type == 'InnerProduct':
        return str(layer.inner_product_param.num_output)
    return '""'


def get_layer_lr_mult(layer):
    """The factors of the learning rate of a layer's weights and bias."""
    if layer.type not in _WITH_WEIGHTS:
        raise ValueError("layers of type %s have no factors of the learning rate" % layer.type)
    if len(layer.param) > 2:
        raise ValueError("layer '%s' has more than weights and a bias" % layer.name)
    factors = [each.lr_mult for each in layer.param]
    return tuple(factors + [1.0] * (2 - len(factors)))


def _extent(options, name, default):
    """The height and width of a window option, whether per axis, for both or as _h and _w."""
    given = getattr(options, name if hasattr(options, name) else name + '_size')
    height, width = (getattr(options, name + side) for side in ('_h', '_w'))
    if height or width:
        return height, width
    given = list(given) if hasattr(given, '__len__') else [given]
    return tuple((given or [default])[axis if axis < len(given) else -1] for axis in (0, 1))


def _window_lines(options):
    """kernel size: 3, or 3x5 if the sides differ."""
    sides = (('kernel size', _extent(options, 'kernel', 1)), ('stride', _extent(options, 'stride', 1)),
             ('pad', _extent(options, 'pad', 0)))
    return ['%s: %s' % (name, height if height == width else '%dx%d' % (height, width))
            for name, (height, width) in sides]


def get_layer_label(layer, rankdir, display_lrm=False):
    """The quoted text of a layer's node, in one line where the graph goes from top to bottom."""
    kind = layer.type
    if kind == 'Pooling':
        kind = '%s %s' % (get_pooling_types_dict()[layer.pooling_param.pool], kind)
    lines = ['%s' % layer.name, '(%s)' % kind]
    if layer.type in ('Convolution', 'Deconvolution'):
        lines += _window_lines(layer.convolution_param)
    elif layer.type == 'Pooling':
        lines += _window_lines(layer.pooling_param)
    if display_lrm and layer.type in _WITH_WEIGHTS:
        lines.append('lr mult: %g, %g' % get_layer_lr_mult(layer))
    return '"%s"' % (' ' if rankdir in ('TB', 'BT') else '\\n').join(lines)


def choose_color_by_layertype(layertype):
    return _COLORS.get(layertype, '#6495ED')


def _runs_in(layer, phase):
    """Whether a layer with these rules is in the net of a phase."""
    if phase is None:
        return True
    if layer.include:
        return any(not rule.HasField('phase') or rule.phase == phase for rule in layer.include)
    return not any(rule.HasField('phase') and rule.phase == phase for rule in layer.exclude)


def get_pydot_graph(caffe_net, rankdir, label_edges=True, phase=None, display_lrm=False):
    """A pydot.Dot of a NetParameter message: layers and blobs are nodes. Layers in place are next to their blob."""
    try:
        import pydot
    except ImportError as error:
        raise ImportError('get_pydot_graph() requires the Python package pydot; draw_net_to_file() does not') from error
    graph = pydot.Dot(caffe_net.name or 'Net', graph_type='digraph', rankdir=rankdir)
    blobs, edges = {}, []
    for layer in caffe_net.layer:
        if not _runs_in(layer, phase):
            continue
        node, in_place = layer.name + '_' + layer.type, list(layer.top) == list(layer.bottom)
        color = choose_color_by_layertype(layer.type)
        graph.add_node(pydot.Node(node, label=get_layer_label(layer, rankdir, display_lrm), shape='record',
                                  style='filled', fillcolor='#90EE90' if in_place else color))
        blobs.update((blob + '_blob', '"%s"' % blob) for blob in (*layer.bottom, *layer.top))
        edges += [(blob + '_blob', node, '""') for blob in layer.bottom]
        edges += [(node, blob + '_blob', get_edge_label(layer) if label_edges else '""') for blob in layer.top]
    for name, label in blobs.items():
        graph.add_node(pydot.Node(name, label=label, shape='octagon', style='filled', fillcolor='#E0E0E0'))
    for source, target, label in edges:
        graph.add_edge(pydot.Edge(source, target, label=label))
    return graph
