"""Random ONNX models of valid nodes, whose shapes Python's onnx infers."""
import random

from tests.onnx.random_weights import numpy, onnx

from onnx import TensorProto, helper, numpy_helper, shape_inference

BATCH, MOST = 2, 6000  # MOST: elements of a tensor
PLAIN = 'Relu Sigmoid Tanh Abs Softplus Neg Selu Softsign Sign Identity'.split()


class RandomGraph:
    """A model with the input 'x' and some outputs. The model is a function of the number."""

    def __init__(self, number, most_nodes=8):
        self.draw = random.Random(number)
        self.values = numpy.random.RandomState(number)
        self.opset = self.draw.choice([11, 13, 17])
        shape = self.draw.choice([(4, 7, 9), (6, 8, 8), (8, 5, 6), (5, 12), (4, 6), (10,), (12,)])
        self.x = self.values.normal(0, 1, (BATCH,) + shape).astype('f4')
        self.open_batch = self.draw.random() < 0.5
        self.shapes = {'x': (BATCH,) + shape}
        self.nodes, self.constants = [], {}
        for _ in range(self.draw.randint(1, most_nodes)): self.grow()
        made = [name for name in self.shapes if name != 'x']
        used = {name for node in self.nodes for name in node.input}
        self.outputs = [name for name in made if name not in used] or made[-1:]

    # Nodes

    def grow(self):
        """Adds one operation, if the drawn one is valid for the drawn tensor."""
        x = self.draw.choice(list(self.shapes)[-4:])
        shape = self.shapes[x]
        kinds = [self.plain, self.plain, self.with_options, self.with_folded, self.with_folded, self.with_constant,
                 self.with_constant, self.with_tensor, self.softmax, self.reduce, self.transpose, self.reshape,
                 self.flatten, self.squeeze, self.concat, self.slice, self.gather, self.pad, self.tile, self.split,
                 self.compare, self.matmul]
        if len(shape) == 4:
            kinds += 2 * [self.conv, self.conv, self.transposed_conv, self.pool, self.pool, self.whole_pool, self.norm,
                          self.norm, self.resize, self.blocks, self.prelu]
        if len(shape) == 3: kinds += [self.conv, self.pool]
        if len(shape) == 2: kinds += 4 * [self.gemm]
        if self.opset >= 17: kinds.append(self.layer_norm)
        if len(shape) == 1: kinds = [self.plain, self.with_options, self.with_tensor]
        before = len(self.nodes), dict(self.constants)
        made = self.draw.choice(kinds)(x, shape)
        if not made: return
        found = self.inferred(made)
        if found: self.shapes.update(found)
        else:
            del self.nodes[before[0]:]
            self.constants = before[1]

    def with_folded(self, x, shape):
        """Adds a number that nodes compute from constants."""
        number = FoldedNumber(self, x, shape).name
        return self.add(self.draw.choice(['Add', 'Sub', 'Mul']), [x, number])

    def add(self, op, inputs, outputs=1, **options):
        """Adds a node; returns the names of its outputs."""
        names = ['%s_%d' % (op.lower(), len(self.nodes)) + ('_%d' % i if i else '') for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **options))
        return names

    def constant(self, values):
        name = 'c%d' % len(self.constants)
        self.constants[name] = numpy.ascontiguousarray(values)
        return name

    def floats(self, *shape, low=None):
        drawn = self.values.normal(0, 1, shape) if low is None else self.values.uniform(low, low + 1, shape)
        return self.constant(drawn.astype('f4'))

    def ints(self, *values): return self.constant(numpy.array(values, 'i8'))

    def inferred(self, names):
        """{name: shape}, or None if one is unknown, empty or too large, or an operator is not valid."""
        try: model = shape_inference.infer_shapes(self.model([], fixed=True), True, True)
        except Exception: return None
        known = {info.name: info.type.tensor_type for info in model.graph.value_info}
        shapes = {}
        for name in names:
            if name not in known: return None
            shape = tuple(dim.dim_value for dim in known[name].shape.dim)
            if not shape or shape[0] != BATCH or not 0 < numpy.prod(shape) <= MOST or min(shape) < 1: return None
            shapes[name] = shape
        return shapes

    def model(self, outputs, fixed=False):
        batch = BATCH if fixed or not self.open_batch else 'N'
        ends = [helper.make_tensor_value_info('x', TensorProto.FLOAT, [batch] + list(self.x.shape[1:]))]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, 'random', ends, results,
                                  [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', self.opset)], ir_version=7)

    # Operations: each adds nodes for tensor x, and returns the names of the results

    def plain(self, x, shape): return self.add(self.draw.choice(PLAIN), [x])

    def with_options(self, x, shape):
        alpha = round(self.draw.uniform(0.1, 2), 2)
        op = self.draw.choice(['Elu', 'LeakyRelu', 'Celu', 'ThresholdedRelu', 'HardSigmoid', 'Clip', 'HardSwish', 'Exp',
                               'Sqrt', 'Log', 'Pow', 'Reciprocal'])
        if op == 'HardSigmoid': return self.add(op, [x], alpha=alpha / 4, beta=0.4)
        if op == 'HardSwish': return self.add(op, [x]) if self.opset >= 14 else None
        if op == 'Exp': return self.add(op, self.add('Tanh', [x]))
        if op in ('Sqrt', 'Log', 'Reciprocal'):
            return self.add(op, self.add('Add', self.add('Abs', [x]) + [self.constant(numpy.float32(alpha))]))
        if op == 'Pow': return self.add(op, self.add('Tanh', [x]) + [self.constant(numpy.float32(2))])
        if op == 'Clip':
            ends = [self.constant(numpy.float32(end)) for end in (-alpha, alpha)]
            return self.add(op, self.draw.choice([[x] + ends, [x, ends[0]], [x, '', ends[1]]]))
        return self.add(op, [x], alpha=alpha)

    def with_constant(self, x, shape):
        dims = [1] + [side if self.draw.random() < 0.5 else 1 for side in shape[1:]]
        dims = dims[self.draw.randint(0, len(dims)):]
        op = self.draw.choice(['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min'])
        both = [x, self.floats(*dims, low=0.5 if op == 'Div' else None)]
        if op != 'Div' and self.draw.random() < 0.4: both.reverse()
        return self.add(op, both)

    def with_tensor(self, x, shape):
        fitting = [name for name, other in self.shapes.items() if len(other) == len(shape) and
                   all(a == b or a == 1 or b == 1 for a, b in zip(shape, other))]
        if self.draw.random() < 0.2: return self.add('Sum', [x] + self.draw.sample(fitting, min(2, len(fitting))))
        return self.add(self.draw.choice(['Add', 'Sub', 'Mul', 'Max', 'Min']), [x, self.draw.choice(fitting)])

    def compare(self, x, shape):
        other = self.draw.choice([name for name in self.shapes if self.shapes[name] == shape])
        limit = self.constant(self.values.normal(0, 1, ()).astype('f4'))
        condition = self.add(self.draw.choice(['Greater', 'Less']), [x, limit])
        return self.add('Mul', self.add('Cast', condition, to=TensorProto.FLOAT) + [other])

    def axis(self, shape):
        axis = self.draw.randint(1, len(shape) - 1)
        return axis if self.draw.random() < 0.7 else axis - len(shape)

    def softmax(self, x, shape):
        return self.add(self.draw.choice(['Softmax', 'LogSoftmax']), [x], axis=self.axis(shape))

    def reduce(self, x, shape):
        axes = sorted(self.draw.sample(range(1, len(shape)), self.draw.randint(1, len(shape) - 1)))
        op = self.draw.choice(['ReduceMean', 'ReduceSum', 'ReduceMax', 'ReduceMin', 'ReduceL1', 'ReduceL2',
                               'ReduceSumSquare'])
        keep = self.draw.randint(0, 1)
        if op == 'ReduceSum' and self.opset >= 13: return self.add(op, [x, self.ints(*axes)], keepdims=keep)
        return self.add(op, [x], axes=axes, keepdims=keep)

    def transpose(self, x, shape):
        rest = list(range(1, len(shape)))
        self.draw.shuffle(rest)
        return self.add('Transpose', [x], perm=[0] + rest)

    def reshape(self, x, shape):
        count = int(numpy.prod(shape[1:]))
        factor = self.draw.choice([n for n in range(1, count + 1) if count % n == 0])
        form = self.draw.choice([[0, factor, count // factor], [0, -1], [0, factor, -1], [-1, count], [0, 0, -1],
                                 [0, 1, factor, count // factor]])
        return self.add('Reshape', [x, self.ints(*form)])

    def flatten(self, x, shape): return self.add('Flatten', [x], axis=1)

    def squeeze(self, x, shape):
        single = [axis for axis in range(1, len(shape)) if shape[axis] == 1]
        if single and self.draw.random() < 0.7: op, axis = 'Squeeze', self.draw.choice(single)
        elif len(shape) < 4: op, axis = 'Unsqueeze', self.draw.randint(1, len(shape))
        else: return None
        if self.opset >= 13: return self.add(op, [x, self.ints(axis)])
        return self.add(op, [x], axes=[axis])

    def concat(self, x, shape):
        axis = self.draw.randint(1, len(shape) - 1)
        fitting = [name for name, other in self.shapes.items() if len(other) == len(shape) and
                   other[:axis] + other[axis + 1:] == shape[:axis] + shape[axis + 1:]]
        return self.add('Concat', [x] + self.draw.choices(fitting, k=self.draw.randint(1, 2)), axis=axis)

    def slice(self, x, shape):
        axis = self.draw.randint(1, len(shape) - 1)
        side = shape[axis]
        begin, step = self.draw.randint(-side, side - 1), self.draw.choice([1, 1, 1, 2, 3, -1])
        end = self.draw.choice([2 ** 31 - 1, side, -1]) if step > 0 else -2 ** 31
        return self.add('Slice', [x] + [self.ints(value) for value in (begin, end, axis, step)])

    def gather(self, x, shape):
        axis = self.axis(shape)
        side = shape[axis]
        indices = [self.draw.randint(-side, side - 1) for _ in range(self.draw.randint(1, 5))]
        listed = numpy.array(indices[0] if self.draw.random() < 0.3 else indices, 'i8')
        return self.add('Gather', [x, self.constant(listed)], axis=axis)

    def pad(self, x, shape):
        mode = self.draw.choice(['constant', 'constant', 'reflect', 'edge'])
        most = [0] + [min(2, side - 1) if mode == 'reflect' else 2 for side in shape[1:]]
        pads = [self.draw.randint(0, limit) for limit in most + most]
        rest = [self.floats()] if mode == 'constant' and self.draw.random() < 0.5 else []
        return self.add('Pad', [x, self.ints(*pads)] + rest, mode=mode)

    def tile(self, x, shape):
        return self.add('Tile', [x, self.ints(1, *(self.draw.choice([1, 1, 2, 3]) for _ in shape[1:]))])

    def split(self, x, shape):
        axis = self.draw.randint(1, len(shape) - 1)
        if shape[axis] < 2: return None
        first = self.draw.randint(1, shape[axis] - 1)
        parts = [first, shape[axis] - first]
        if self.opset >= 13: return self.add('Split', [x, self.ints(*parts)], 2, axis=axis)
        return self.add('Split', [x], 2, axis=axis, split=parts)

    def matmul(self, x, shape):
        return self.add('MatMul', [x, self.floats(shape[-1], self.draw.randint(1, 8))]) if len(shape) < 4 else None

    def gemm(self, x, shape):
        units, turned = self.draw.randint(1, 8), self.draw.randint(0, 1)
        weights = self.floats(*((units, shape[1]) if turned else (shape[1], units)))
        bias = [self.floats(*self.draw.choice([(units,), (1, units), (1,), ()]))] if self.draw.random() < 0.7 else []
        return self.add('Gemm', [x, weights] + bias, transB=turned, alpha=self.draw.choice([1.0, 0.5]))

    def window(self, sides):
        """Options of a convolution or a pooling with these sides."""
        kernel = [self.draw.randint(1, min(3, side)) for side in sides]
        options = {'kernel_shape': kernel, 'strides': [self.draw.randint(1, 2) for _ in sides]}
        if self.draw.random() < 0.3: options['auto_pad'] = self.draw.choice(['SAME_UPPER', 'SAME_LOWER', 'VALID'])
        elif self.draw.random() < 0.7: options['pads'] = [self.draw.randint(0, k // 2) for k in 2 * kernel]
        return options

    def conv(self, x, shape):
        options = self.window(shape[2:])
        group = self.draw.choice([1, 1, 1, shape[1], 2])
        if shape[1] % group: return None
        out = group * self.draw.randint(1, 3)
        if 'auto_pad' not in options and self.draw.random() < 0.3: options['dilations'] = [2] * len(shape[2:])
        bias = [self.floats(out)] if self.draw.random() < 0.5 else []
        return self.add('Conv', [x, self.floats(out, shape[1] // group, *options['kernel_shape'])] + bias, group=group,
                        **options)

    def transposed_conv(self, x, shape):
        options = self.window(shape[2:])
        options.pop('auto_pad', None)
        if options['strides'] == [2, 2] and self.draw.random() < 0.4: options['output_padding'] = [1, 1]
        return self.add('ConvTranspose', [x, self.floats(shape[1], self.draw.randint(1, 4), *options['kernel_shape'])],
                        **options)

    def pool(self, x, shape):
        options = self.window(shape[2:])
        if 'auto_pad' not in options: options['ceil_mode'] = self.draw.randint(0, 1)
        if self.draw.random() < 0.5: return self.add('MaxPool', [x], **options)
        return self.add('AveragePool', [x], count_include_pad=self.draw.randint(0, 1), **options)

    def whole_pool(self, x, shape): return self.add(self.draw.choice(['GlobalAveragePool', 'GlobalMaxPool']), [x])

    def norm(self, x, shape):
        c = shape[1]
        op = self.draw.choice(['BatchNormalization', 'BatchNormalization', 'InstanceNormalization', 'LRN'])
        if op == 'LRN': return self.add(op, [x], size=self.draw.choice([1, 3, 5]), alpha=0.1, beta=0.75, bias=1.0)
        options = [self.floats(c, low=0.5), self.floats(c)]
        if op == 'BatchNormalization': options += [self.floats(c), self.floats(c, low=0.5)]
        return self.add(op, [x] + options, epsilon=0.01)

    def layer_norm(self, x, shape):
        return self.add('LayerNormalization', [x, self.floats(shape[-1]), self.floats(shape[-1])], epsilon=0.01)

    def prelu(self, x, shape):
        return self.add('PRelu', [x, self.floats(*self.draw.choice([(shape[1], 1, 1), (1,), (1, 1, 1)]))])

    def blocks(self, x, shape):
        if shape[2] % 2 == 0 == shape[3] % 2: return self.add('SpaceToDepth', [x], blocksize=2)
        if shape[1] % 4: return None
        return self.add('DepthToSpace', [x], blocksize=2, mode=self.draw.choice(['DCR', 'CRD']))

    def resize(self, x, shape):
        scale = self.draw.choice([2.0, 3.0, 0.5])
        if any(side * scale != int(side * scale) for side in shape[2:]): return None
        scales = self.constant(numpy.array([1, 1, scale, scale], 'f4'))
        if self.draw.random() < 0.5:
            return self.add('Resize', [x, self.floats(0), scales], mode='nearest', nearest_mode='floor',
                            coordinate_transformation_mode='asymmetric')
        form = self.draw.choice(['half_pixel', 'align_corners', 'asymmetric', 'pytorch_half_pixel'])
        return self.add('Resize', [x, self.floats(0), scales], mode='linear', coordinate_transformation_mode=form)


class FoldedNumber:
    """A float computed from constants by random nodes, which importers fold. `name`: its tensor. Values stay small, so
    that results do not depend on the order of sums."""

    def __init__(self, graph, x, shape):
        self.graph, self.draw = graph, graph.draw
        if self.draw.random() < 0.4:  # the sizes of x, without the batch
            sizes = graph.add('Shape', [x])[0]
            self.name, self.dims = self.sliced(sizes, 1, len(shape)), [len(shape) - 1]
        else:
            self.dims = self.draw.choice([[4], [6], [2, 3], [3, 4]])
            self.name = self.whole_numbers(self.dims)
        for _ in range(self.draw.randint(1, 4)): self.change_whole()
        self.name = graph.add('Cast', [self.name], to=TensorProto.FLOAT)[0]
        for _ in range(self.draw.randint(0, 2)): self.change_real()
        self.end()

    def whole_numbers(self, dims, low=-5):
        return self.graph.constant(self.graph.values.randint(low, 6, dims).astype('i8'))

    def replace(self, op, *more, first=None, **options):
        self.name = self.graph.add(op, [first or self.name, *more], **options)[0]

    def sliced(self, name, begin, end, axis=0, step=1):
        return self.graph.add('Slice', [name] + [self.graph.ints(value) for value in (begin, end, axis, step)])[0]

    def change_whole(self):
        graph, draw, dims = self.graph, self.draw, self.dims
        other = draw.choice([dims, dims[-1:], [1], []])
        kind = draw.choice(['arithmetic', 'arithmetic', 'divide', 'sign', 'where', 'form', 'gather', 'slice', 'concat',
                            'tile', 'sum', 'range', 'filled', 'split'])
        if kind == 'arithmetic':
            self.replace(draw.choice(['Add', 'Sub', 'Mul'] + (['Max', 'Min'] if graph.opset >= 13 else [])),
                         self.whole_numbers(other))
            self.replace('Mod', graph.ints(7))
        elif kind == 'divide': self.replace(draw.choice(['Div', 'Mod']), self.whole_numbers(other, 1))
        elif kind == 'sign': self.replace(draw.choice(['Neg', 'Abs', 'Sign', 'Identity']))
        elif kind == 'where':
            compare = ['Greater', 'Less', 'Equal'] + (['GreaterOrEqual', 'LessOrEqual'] if graph.opset >= 13 else [])
            which = graph.add(draw.choice(compare), [self.name, self.whole_numbers(other)])
            if draw.random() < 0.5:
                more = graph.add('Less', [self.name, self.whole_numbers(other)])
                which = graph.add(draw.choice(['And', 'Or', 'Xor']), which + more)
            if draw.random() < 0.3: which = graph.add('Not', which)
            self.replace('Where', self.name, self.whole_numbers(other), first=which[0])
        elif kind == 'form':
            if len(dims) == 1: self.reshape(draw.choice([[1, dims[0]], [dims[0], 1]]))
            elif draw.random() < 0.5:
                self.replace('Transpose', perm=[1, 0])
                self.dims = dims[::-1]
            else: self.reshape([dims[0] * dims[1]])
        elif kind == 'gather':
            taken = draw.choices(range(-dims[0], dims[0]), k=3)
            self.replace('Gather', graph.ints(*taken), axis=0)
            self.dims = [3] + dims[1:]
        elif kind == 'slice':
            self.name = self.sliced(self.name, -1, -2 ** 31, 0, -1)  # in reverse
        elif kind == 'concat':
            axis = draw.randint(0, len(dims) - 1)
            self.replace('Concat', self.name, axis=axis)
            self.dims = dims[:axis] + [2 * dims[axis]] + dims[axis + 1:]
        elif kind == 'tile':
            self.replace('Tile', graph.ints(*([2] + [1] * (len(dims) - 1))))
            self.dims = [2 * dims[0]] + dims[1:]
        elif kind == 'sum' and len(dims) == 2:
            if graph.opset >= 13: self.replace('ReduceSum', graph.ints(0), keepdims=1)
            else: self.replace('ReduceSum', axes=[0], keepdims=1)
            self.dims = [1, dims[1]]
        elif kind == 'range':
            ends = [graph.constant(numpy.int64(value)) for value in (draw.randint(-3, 3), 9, draw.randint(1, 3))]
            counted = graph.add('Range', ends)[0]
            self.replace('Add', self.sliced(counted, 0, 1))
        elif kind == 'filled':
            value = numpy_helper.from_array(numpy.array([draw.randint(-2, 2)], 'i8'))
            filled = graph.add('ConstantOfShape', graph.add('Shape', [self.name]), value=value)
            self.replace('Add', filled[0])
        elif kind == 'split': self.replace('Sub', self.sliced(self.name, 0, 1))

    def reshape(self, dims):
        self.replace('Reshape', self.graph.ints(*dims))
        self.dims = dims

    def change_real(self):
        op = self.draw.choice(['Sqrt', 'Exp', 'Log', 'Floor', 'Ceil', 'Round', 'Sin', 'Cos', 'Tanh', 'Erf', 'Sigmoid',
                               'Reciprocal', 'Clip', 'Pow', 'CumSum'])
        if op in ('Sqrt', 'Log', 'Reciprocal'): self.name = self.graph.add('Abs', [self.name])[0]
        if op in ('Log', 'Reciprocal'): self.replace('Add', self.graph.constant(numpy.float32(0.75)))
        if op == 'Exp': self.replace('Tanh')
        if op == 'Clip': self.replace(op, *[self.graph.constant(numpy.float32(end)) for end in (-1.5, 2)])
        elif op == 'Pow': self.replace(op, self.graph.constant(numpy.float32(2)))
        elif op == 'CumSum': self.replace(op, self.graph.constant(numpy.int64(0)), reverse=self.draw.randint(0, 1))
        else: self.replace(op)

    def end(self):
        """The largest, the smallest or the mean of all, between -1 and 1."""
        self.replace(self.draw.choice(['ReduceMax', 'ReduceMin', 'ReduceMean']), keepdims=0)
        self.replace('Tanh')
