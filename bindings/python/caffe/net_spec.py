"""Nets written in Python: layers are calls, blobs are values, to_proto() returns the message.

    n = caffe.NetSpec()
    n.data, n.label = caffe.layers.Data(batch_size=64, source='train_lmdb', backend=caffe.params.Data.LMDB, ntop=2)
    n.ip = caffe.layers.InnerProduct(n.data, num_output=10, weight_filler=dict(type='xavier'))
    n.loss = caffe.layers.SoftmaxWithLoss(n.ip, n.label)
    print(n.to_proto())
"""
import collections

import cortado

from .proto import caffe_pb2

_OPTIONS = cortado.layer_options()


def _is_repeated(field):
    """protobuf 7 has no FieldDescriptor.label, and those before 6.31 no is_repeated."""
    return field.is_repeated if hasattr(field, 'is_repeated') else field.label == field.LABEL_REPEATED


def assign_proto(proto, name, val):
    """Sets a field of a message: lists are repeated fields, dicts are messages, strings are names of enum values."""
    field = proto.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        raise AttributeError("%s has no field '%s'" % (proto.DESCRIPTOR.name, name))
    repeated = _is_repeated(field)
    values = list(val) if repeated and isinstance(val, (list, tuple)) else [val]
    target = getattr(proto, name)
    for each in values:
        if field.message_type is not None:
            part = target.add() if repeated else target
            if isinstance(each, dict):
                if not repeated:
                    part.SetInParent()  # also for an empty message
                for key, inner in each.items():
                    assign_proto(part, key, inner)
            else:
                part.CopyFrom(each)
            continue
        if field.enum_type is not None and isinstance(each, str):
            each = field.enum_type.values_by_name[each].number
        if repeated:
            target.append(each)
        else:
            setattr(proto, name, each)


def param_name_dict():
    """The names of options by the names of their messages, both without `param`: {'Convolution': 'convolution'}."""
    suffix, type_suffix = '_param', 'Parameter'
    return {field.message_type.name[:-len(type_suffix)]: field.name[:-len(suffix)]
            for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields
            if field.name.endswith(suffix) and field.message_type.name.endswith(type_suffix)}


def _one_of(layer, options):
    """The message of the field; the first one of a repeated field."""
    field = getattr(layer, options.name)
    if not _is_repeated(options):
        return field
    return field[0] if field else field.add()


class Top:
    """A top of a layer."""

    def __init__(self, function, index):
        self.fn, self.n = function, index

    def to_proto(self):
        """The net that produces this blob."""
        return to_proto(self)

    def _update(self, params):
        self.fn._update(params)


class Function:
    """A layer: its type, its bottoms, its options."""

    def __init__(self, type_name, inputs, params):
        self.type_name, self.params = type_name, dict(params)
        for index, each in enumerate(inputs):
            if not isinstance(each, Top):
                raise TypeError("input %d of %s is not a blob of a layer, but %r" % (index, type_name, each))
        self.inputs = tuple(inputs)
        self.ntop = self.params.pop('ntop', 1)
        self.in_place = self.params.pop('in_place', False)
        self.tops = tuple(Top(self, index) for index in range(self.ntop))

    def _update(self, params):
        """Sets more options."""
        self.params.update(params)

    def message(self, name, bottoms, tops):
        layer = caffe_pb2.LayerParameter(name=name, type=self.type_name, bottom=bottoms, top=tops)
        options = layer.DESCRIPTOR.fields_by_name.get(_OPTIONS.get(self.type_name, ''))
        for key, value in self.params.items():
            own = options is not None and key in options.message_type.fields_by_name and not key.endswith('param')
            assign_proto(_one_of(layer, options) if own else layer, key, value)
        return layer


class _Writer:
    """Writes layers into a message in topological order."""

    def __init__(self, names):
        self.net = caffe_pb2.NetParameter()
        self._names = dict(names)  # of tops, and of layers without tops
        self._counts = collections.Counter()
        self._written = {}  # the names of tops, by function

    def top_name(self, top):
        return self._written[top.fn][top.n]

    def _layer_name(self, function):
        first = function.tops[0] if function.tops else function
        if first in self._names:
            return self._names[first]
        self._counts[function.type_name] += 1
        return function.type_name + str(self._counts[function.type_name])

    def write(self, function):
        if function in self._written:
            return
        for each in function.inputs:
            self.write(each.fn)
        bottoms = [self.top_name(each) for each in function.inputs]
        name = self._layer_name(function)
        if function.in_place:
            if len(function.tops) != 1 or len(bottoms) != 1:
                raise ValueError("layer '%s' cannot work in place: it must have one bottom and one top" % name)
            tops = bottoms
        else:
            tops = [self._names.get(top) or (name if index == 0 else '%s_%d' % (name, index))
                    for index, top in enumerate(function.tops)]
        self._written[function] = tops
        self.net.layer.add().CopyFrom(function.message(name, bottoms, tops))


def to_proto(*tops):
    """The message of the net that produces these blobs; layers are named after their types."""
    writer = _Writer({})
    for top in tops:
        writer.write(top.fn)
    return writer.net


class NetSpec:
    """Blobs by name, as attributes or items, in insertion order."""

    def __init__(self):
        super().__setattr__('tops', collections.OrderedDict())

    def __setattr__(self, name, value):
        self.tops[name] = value

    def __getattr__(self, name):
        try:
            return self.tops[name]
        except KeyError:
            raise AttributeError("the net has no blob '%s'" % name)

    __setitem__ = __setattr__

    def __getitem__(self, name):
        return self.tops[name]

    def __delattr__(self, name):
        del self.tops[name]

    __delitem__ = __delattr__

    def to_proto(self):
        names = {top: name for name, top in self.tops.items()}
        writer = _Writer(names)
        for top in self.tops.values():
            writer.write(top.fn if isinstance(top, Top) else top)
        return writer.net


class Layers:
    """layers.TYPE(blobs..., options...) returns one blob, `ntop` blobs, or the layer itself if it has no tops."""

    def __getattr__(self, type_name):
        if type_name.startswith('__'):
            raise AttributeError(type_name)

        def make(*inputs, **options):
            function = Function(type_name, inputs, options)
            if function.ntop == 0:
                return function
            return function.tops[0] if function.ntop == 1 else function.tops

        return make


class Parameters:
    """params.Pooling.MAX: the values of the enums in PoolingParameter."""

    def __getattr__(self, name):
        message = getattr(caffe_pb2, name + 'Parameter', None)
        if message is None:
            raise AttributeError("unknown message %sParameter" % name)
        return message


layers = Layers()
params = Parameters()
