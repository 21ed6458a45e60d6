"""caffe.Net."""
import collections
import os

import numpy

import cortado

from . import modes
from .blob import Lent
from .nccl import NCCL
from .python_layer import TEST, TRAIN, Blob, BlobVec, Layer
from .vectors import DtypeVec, IntVec, LayerVec, StringVec


class LayerView(Layer):
    """A layer of a net: its type and its weights."""

    def __init__(self, name, kind, blobs):
        self.name, self.type, self.blobs = name, kind, blobs

    def __repr__(self):
        return "<layer '%s' (%s)>" % (self.name, self.type)


def _is_path(argument):
    return isinstance(argument, (str, bytes, os.PathLike))


class Net:
    """A net from a prototxt: Net(file, phase, level, stages, weights), all but the first also as keywords, or
    Net(file, weights, phase)."""

    def __init__(self, network_file, *arguments, **keywords):
        if arguments and (_is_path(arguments[0]) or arguments[0] is None):
            keywords = dict(weights=arguments[0], **keywords)
            arguments = arguments[1:]
        self._open(network_file, *arguments, **keywords)

    def _open(self, network_file, phase=None, level=0, stages=None, weights=None):
        if phase not in (TRAIN, TEST):
            raise TypeError('Net(network_file, [weights,] phase): phase must be caffe.TRAIN or caffe.TEST')
        if weights is not None:
            weights = os.fsdecode(weights)
        self._take(cortado.Net(os.fsdecode(network_file), weights, phase='TRAIN' if phase == TRAIN else 'TEST',
                               level=level, stages=list(stages or []), device=modes.device(), seed=modes.seed()))

    @classmethod
    def over(cls, handle, sharing=None):
        """Wraps an existing net, such as a solver's; it may share weights with the net `sharing`."""
        net = cls.__new__(cls)
        net._take(handle, sharing)
        return net

    def _take(self, handle, sharing=None):
        self._net, self._wanted_shapes, self._fed = handle, {}, None
        self._callbacks = {}  # by the name of the method that adds them
        self.inputs, self.outputs = list(handle.inputs), list(handle.outputs)
        self.blobs = collections.OrderedDict((name, self._blob(name)) for name in handle.blobs)
        self.params = self._params(sharing)
        self.layers, self.layer_dict, self._kinds = LayerVec(), collections.OrderedDict(), {}
        self.bottom_names, self.top_names = collections.OrderedDict(), collections.OrderedDict()
        for name, kind, bottoms, tops in handle.layers:
            written = handle.python_object(name)
            view = LayerView(name, kind, self.params.get(name, BlobVec())) if written is None else written
            self.layers.append(view)
            self.layer_dict[name] = view
            self._kinds[name] = kind
            self.bottom_names[name], self.top_names[name] = bottoms, tops
        self._layer_names, self._blob_names = StringVec(self.layer_dict), StringVec(self.blobs)

    # Indices for scripts that traverse the graph: of blobs in _blob_names, of layers in _layer_names.

    def _ids(self, names):
        return IntVec(self._blob_names.index(name) for name in names)

    def _bottom_ids(self, layer):
        return self._ids(self.bottom_names[self._layer_names[layer]])

    def _top_ids(self, layer):
        return self._ids(self.top_names[self._layer_names[layer]])

    _inputs = property(lambda self: self._ids(self.inputs))
    _outputs = property(lambda self: self._ids(self.outputs))

    @property
    def _blobs(self):
        return BlobVec(self.blobs.values())

    @property
    def blob_loss_weights(self):
        """The loss weight of each blob, 0 if it is not a loss."""
        return collections.OrderedDict((name, self._net.loss_weight(name)) for name in self._blob_names)

    @property
    def _blob_loss_weights(self):
        return DtypeVec(self.blob_loss_weights.values())

    def _blob(self, name):
        net = self._net

        def reshape(extents):
            if name not in self.inputs:
                raise ValueError("'%s' is not an input: its shape follows from other blobs" % name)
            self._wanted_shapes[name] = extents

        return Blob(Lent(lambda: net.blob(name), lambda array: net.set_blob(name, array)),
                    Lent(lambda: net.gradient(name), lambda array: net.set_gradient(name, array)),
                    lambda: self._wanted_shapes.get(name) or net.shape(name), reshape)

    def _params(self, sharing):
        shapes, gradients = self._net.param_shapes, {}
        self._weights = self._lend_weights(sharing)

        def blob(layer, index):
            place = self._net.weight(layer, index).place
            gradient = gradients.setdefault(place, self._lent_gradient(layer, index))
            return Blob(self._weights[place], gradient, lambda: shapes[layer][index])

        return collections.OrderedDict(
            (layer, BlobVec(blob(layer, index) for index in range(len(shapes[layer])))) for layer in shapes)

    def _lent_gradient(self, layer, index):
        net = self._net
        return Lent(lambda: net.param_gradient(layer, index),
                    lambda array: net.set_param_gradient(layer, index, array))

    def _lend_weights(self, sharing):
        """The arrays of the weights, by place in memory; those of `sharing` if both nets have a weight."""
        lent, known = {}, sharing._weights if sharing else {}
        for layer, shapes in self._net.param_shapes.items():
            for index in range(len(shapes)):
                weight = self._net.weight(layer, index)
                if weight.place not in lent:
                    lent[weight.place] = known.get(weight.place) or Lent(weight.read, weight.write)
        return lent

    # Arrays

    def _lent_params(self):
        for weights in self.params.values():
            for blob in weights:
                yield from blob.lent()

    def _collect(self, inputs=False):
        """Passes changed shapes, values and gradients to the net. With `inputs` also writes all input arrays, because a
        script may set one to the value that an in-place layer has written."""
        for lent in self._lent_params():
            lent.give_back()
        shapes, self._wanted_shapes = self._wanted_shapes, {}
        for name, blob in self.blobs.items():
            if name in shapes:
                continue
            for lent in blob.lent():
                lent.give_back(always=inputs and name in self.inputs)
            if shapes:
                blob.let_go()
        if shapes:
            self._net.reshape(**shapes)
        for name in shapes:
            for lent in self.blobs[name].lent():
                lent.give_back()

    def _refresh(self):
        for lent in self._lent_params():
            lent.refresh()
        for blob in self.blobs.values():
            for lent in blob.lent():
                lent.refresh()

    # Passes

    def forward(self, blobs=None, start=None, end=None, **inputs):
        """Runs the layers from `start` to `end`; returns outputs and `blobs` by name. Inputs may be given by name."""
        if inputs and set(inputs) != set(self.inputs):
            raise Exception('the inputs are %s, not %s' % (sorted(self.inputs), sorted(inputs)))
        for name, values in inputs.items():
            if len(values) != self.blobs[name].num:
                raise Exception("'%s' has a batch of %d, not %d" % (name, self.blobs[name].num, len(values)))
            self.blobs[name].data[...] = values
        self._run_forward(start, end)
        wanted = set(self.top_names[end] if end else self.outputs) | set(blobs or [])
        return {name: self.blobs[name].data for name in wanted}

    def backward(self, diffs=None, start=None, end=None, **gradients):
        """Runs backward from `start` down to `end`; returns the gradients of the inputs and of `diffs`. Gradients of
        the outputs may be given by name."""
        first = set(self.top_names[start]) if start else set(self.outputs)
        if gradients and set(gradients) != first:
            raise Exception('the gradients must be of %s, not of %s' % (sorted(first), sorted(gradients)))
        for name, values in gradients.items():
            if len(values) != self.blobs[name].num:
                raise Exception("'%s' has a batch of %d, not %d" % (name, self.blobs[name].num, len(values)))
            self.blobs[name].diff[...] = values
        self._run_backward(start, end)
        wanted = set(self.bottom_names[end] if end else self.inputs) | set(diffs or [])
        return {name: self.blobs[name].diff for name in wanted}

    def _run_forward(self, start, end):
        self._feed(start)
        self._collect(inputs=True)
        self._run(self._net.forward, start, end, 'forward')

    def _run_backward(self, start, end):
        self._collect()
        self._run(self._net.backward, start, end, 'backward')

    def _run(self, layers, start, end, what):
        """Runs layers at once, or each between its callbacks."""
        before, after = (self._callbacks.get(when + what, []) for when in ('before_', 'after_'))
        if not before and not after:
            layers(start, end)
            return self._refresh()
        for index in self._path(start, end, backward=what == 'backward'):
            for call in before:
                call(index)
            self._collect()
            layers(self._layer_names[index], self._layer_names[index])
            self._refresh()
            for call in after:
                call(index)

    def _path(self, start, end, backward):
        """The indices of layers in the order of a pass."""
        names = self._layer_names
        ends = (len(names) - 1, 0) if backward else (0, len(names) - 1)
        first, last = (other if name is None else names.index(name) for name, other in zip((start, end), ends))
        return range(first, last - 1, -1) if backward else range(first, last + 1)

    def _add_callback(self, when, call):
        if not isinstance(call, NCCL):
            self._callbacks.setdefault(when, []).append(call)

    def before_forward(self, call):
        """Adds a function that is called with the index of each layer before it runs; the others are alike."""
        self._add_callback('before_forward', call)

    def after_forward(self, call):
        self._add_callback('after_forward', call)

    def before_backward(self, call):
        self._add_callback('before_backward', call)

    def after_backward(self, call):
        self._add_callback('after_backward', call)

    def has_callbacks(self):
        return bool(self._callbacks)

    # Layers by their indices

    def _layer_at(self, index):
        if not 0 <= index < len(self._layer_names):
            raise IndexError('the net has layers 0 to %d, not %d' % (len(self._layer_names) - 1, index))
        return self._layer_names[index]

    def _forward(self, start, end):
        """Runs the layers from `start` to `end`, both included, and returns their loss."""
        first, last = self._layer_at(start), self._layer_at(end)
        self._run_forward(first, last)
        tops = {top for name in self._layer_names[start:end + 1] for top in self.top_names[name]}
        weights = {top: self._net.loss_weight(top) for top in tops}
        return sum(weight * float(self.blobs[top].data.sum()) for top, weight in weights.items() if weight)

    def _backward(self, start, end):
        """Runs backward from `start` down to `end`, both included."""
        self._run_backward(self._layer_at(start), self._layer_at(end))

    def _batch(self, arrays):
        """Yields batches of arrays as dicts, the last one padded with zeros."""
        return (batch for batch, _ in self._batches(arrays))

    def _batches(self, arrays):
        """Yields batches as dicts, the last one padded with zeros, and their number of valid rows."""
        size = next(iter(self.blobs[name].num for name in arrays), 1)
        count = len(next(iter(arrays.values())))
        for begin in range(0, count, size):
            rows = min(size, count - begin)
            batch = {}
            for name, values in arrays.items():
                values = numpy.asarray(values[begin:begin + rows])
                batch[name] = numpy.concatenate([values, numpy.zeros((size - rows,) + values.shape[1:], values.dtype)])
            yield batch, rows

    def _in_batches(self, arrays, run):
        gathered = collections.defaultdict(list)
        for batch, rows in self._batches(arrays):
            for name, values in run(batch).items():
                gathered[name].extend(values[:rows].copy() if values.ndim else [values.copy()])
        return {name: numpy.asarray(values) for name, values in gathered.items()}

    def forward_all(self, blobs=None, **inputs):
        """forward() over any number of rows, batch by batch."""
        return self._in_batches(inputs, lambda batch: self.forward(blobs=blobs, **batch))

    def forward_backward_all(self, blobs=None, diffs=None, **given):
        """forward() and backward(), batch by batch; `given` has inputs and gradients of outputs."""
        gradients = {}

        def run(batch):
            out = self.forward(blobs=blobs, **{name: batch[name] for name in batch if name in self.inputs})
            out = {name: values.copy() for name, values in out.items()}
            back = self.backward(diffs=diffs, **{name: batch[name] for name in batch if name in self.outputs})
            gradients.update({name: None for name in back})
            out.update({('gradient of', name): values for name, values in back.items()})
            return out

        both = self._in_batches(given, run)
        return ({name: values for name, values in both.items() if not isinstance(name, tuple)},
                {name[1]: values for name, values in both.items() if isinstance(name, tuple)})

    def reshape(self):
        """Applies the shapes that were set, as forward() does."""
        self._collect()

    def clear_param_diffs(self):
        self._collect()
        self._net.clear_param_gradients()
        self._refresh()

    # MemoryData

    def set_input_arrays(self, data, labels):
        """Sets the rows of a MemoryData layer, which reads `data` and `labels` batch by batch, repeatedly."""
        kinds = ('Input', 'MemoryData')
        tops = [self.top_names[name] for name, kind in self._kinds.items() if kind in kinds]
        tops = [each for each in tops if len(each) > 1] or tops
        if not tops:
            raise RuntimeError('set_input_arrays() requires a net with a MemoryData layer')
        data = numpy.asarray(data, numpy.float32)
        labels = numpy.asarray(labels, numpy.float32)
        size = self.blobs[tops[0][0]].num
        if len(data) != len(labels) or len(data) == 0 or len(data) % size != 0:
            raise ValueError('data and labels must have the same number of rows, a multiple of the batch of %d' % size)
        self._fed = [tops[0], (data, labels.reshape(len(labels))), 0, size]

    _set_input_arrays = set_input_arrays

    def _feed(self, start):
        if self._fed is None or start not in (None, self._layer_names[0]):
            return
        names, arrays, at, size = self._fed
        for name, values in zip(names, arrays):
            self.blobs[name].data[...] = values[at:at + size].reshape(self.blobs[name].shape)
        self._fed[2] = (at + size) % len(arrays[0])

    # Weights and files

    def copy_from(self, weights):
        """Copies weights by layer name from a .caffemodel, .h5, .safetensors or .npz file."""
        self._collect()
        self._net.load(os.fsdecode(weights))
        self._refresh()

    load_hdf5 = copy_from

    def share_with(self, other):
        """Shares the other net's weights."""
        self._collect()
        other._collect()
        self._net.share(other._net)
        self._weights = self._lend_weights(other)
        for layer, blobs in self.params.items():
            for index, blob in enumerate(blobs):
                blob.share_data(self._weights[self._net.weight(layer, index).place])
        self._refresh()

    def save(self, path):
        """Writes a .caffemodel, whatever the name."""
        self._collect()
        self._net.save_binary(os.fsdecode(path))

    def save_hdf5(self, path):
        """Writes an HDF5 file, whatever the name."""
        self._collect()
        self._net.save_hdf5(os.fsdecode(path))

    def set_mode_cpu(self):
        raise NotImplementedError('the device of a net is fixed; call caffe.set_mode_cpu() before making the net')

    def set_mode_gpu(self):
        raise NotImplementedError('the device of a net is fixed; call caffe.set_mode_gpu() before making the net')
