// Constant folding of operators that slice, concatenate, transpose or reshape.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// The elements of `from` with these indices, in another shape.
Constant picked(const Constant& from, const Shape& shape, const std::vector<size_t>& places) {
  Constant out{.shape = shape, .integers = from.integers};
  for (const size_t place : places)
    out.integers ? out.ints.push_back(from.ints[place]) : out.floats.push_back(from.floats[place]);
  return out;
}

/// The strides of each axis, in elements.
std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides;
  for (int axis = 0; axis < shape.axes(); ++axis) strides.push_back(shape.count(axis + 1));
  return strides;
}

/// The indices of the elements of a view with this shape, offset and strides.
std::vector<size_t> places(const Shape& shape, int64_t start, const std::vector<int64_t>& steps) {
  std::vector<size_t> out;
  for (int64_t i = 0; i < shape.count(); ++i) {
    int64_t rest = i, at = start;
    for (int axis = shape.axes() - 1; axis >= 0; --axis) {
      at += rest % shape[axis] * steps[size_t(axis)];
      rest /= shape[axis];
    }
    out.push_back(size_t(at));
  }
  return out;
}

void fold_identity(NodeReader& node) { node.set(0, node.value(0)); }

void fold_constant(NodeReader& node) {
  if (const ConstantPtr value = node.tensor("value")) return node.set(0, Constant(*value));
  if (node.has("value_ints")) return node.set(0, integers_of(node.integers("value_ints")));
  if (node.has("value_int"))
    return node.set(0, Constant{.shape = {}, .integers = true, .ints = {node.integer("value_int", 0)}});
  if (node.has("value_float")) return node.set(0, Constant{.shape = {}, .floats = {node.real("value_float", 0)}});
  node.fail("only constants of tensors, integers or floats are supported");
}

Shape shape_in(const NodeReader& node, const Constant& dims) {
  const std::vector<int64_t> list = dims.as_integers();
  if (list.size() > size_t(Shape::kMaxAxes))
    node.fail(std::to_string(list.size()) + " axes are above the limit of " + std::to_string(Shape::kMaxAxes));
  for (const int64_t dim : list)
    if (dim < 0) node.fail("extent " + std::to_string(dim) + " is negative");
  const Shape shape(list);
  if (shape.count() > kMaxFolded) node.fail("a constant of shape " + shape.str() + " is too large");
  return shape;
}

void fold_constant_of_shape(NodeReader& node) {
  const Shape shape = shape_in(node, *node.constant(0, "the shape"));
  const ConstantPtr value = node.tensor("value");
  if (value && value->count() != 1) node.fail("value is not a single number");
  const Constant zero{.shape = {1}, .floats = {0}};
  node.set(0, picked(value ? *value : zero, shape, std::vector<size_t>(size_t(shape.count()), 0)));
}

void fold_reshape(NodeReader& node) {
  Constant out = *node.constant(0, "the operand");
  std::vector<int64_t> target = node.constant(1, "the shape")->as_integers();
  int64_t known = 1;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && int(i) < out.shape.axes()) target[i] = out.shape[int(i)];
    if (target[i] < -1 || target[i] > kMaxFolded) node.fail("extent " + std::to_string(target[i]) + " is out of range");
    if (target[i] > 0) known = checked_mul(known, target[i]);
  }
  const auto open = std::find(target.begin(), target.end(), -1);
  if (open != target.end()) *open = out.shape.count() / std::max<int64_t>(1, known);
  const Shape shape = shape_in(node, integers_of(target));
  if (shape.count() != out.shape.count())
    node.fail("shape " + out.shape.str() + " cannot be reshaped to " + shape.str());
  out.shape = shape;
  node.set(0, std::move(out));
}

void fold_squeeze(NodeReader& node) {
  Constant out = *node.constant(0, "the operand");
  const auto axes = node.list("axes", 1);
  std::vector<bool> goes(size_t(out.shape.axes()), false);
  for (int axis = 0; axis < out.shape.axes(); ++axis) goes[size_t(axis)] = !axes && out.shape[axis] == 1;
  for (const int64_t axis : axes.value_or(std::vector<int64_t>{})) goes[size_t(node.axis_of(out.shape, axis))] = true;
  std::vector<int64_t> dims;
  for (int axis = 0; axis < out.shape.axes(); ++axis) {
    if (goes[size_t(axis)] && out.shape[axis] != 1)
      node.fail("axis " + std::to_string(axis) + " of " + out.shape.str() + " is not 1");
    if (!goes[size_t(axis)]) dims.push_back(out.shape[axis]);
  }
  out.shape = Shape(dims);
  node.set(0, std::move(out));
}

void fold_unsqueeze(NodeReader& node) {
  Constant out = *node.constant(0, "the operand");
  const std::vector<int64_t> axes = node.list("axes", 1).value_or(std::vector<int64_t>{});
  const int64_t count = out.shape.axes() + int64_t(axes.size());
  if (count > Shape::kMaxAxes)
    node.fail(std::to_string(count) + " axes are above the limit of " + std::to_string(Shape::kMaxAxes));
  std::vector<int64_t> dims(size_t(count), -1);
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + count : axis;
    if (at < 0 || at >= count || dims[size_t(at)] == 1)
      node.fail("axis " + std::to_string(axis) + " is out of range or duplicate");
    dims[size_t(at)] = 1;
  }
  int next = 0;
  for (int64_t& dim : dims)
    if (dim == -1) dim = out.shape[next++];
  out.shape = Shape(dims);
  node.set(0, std::move(out));
}

void fold_transpose(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  std::vector<int64_t> order;
  for (int64_t axis = x->shape.axes() - 1; axis >= 0; --axis) order.push_back(axis);
  order = node.integers("perm", order);
  if (order.size() != size_t(x->shape.axes()))
    node.fail("perm has " + std::to_string(order.size()) + " axes, but its input has shape " + x->shape.str());
  const std::vector<int64_t> strides = strides_of(x->shape);
  std::vector<int64_t> dims, steps;
  for (int64_t& axis : order) {
    axis = node.axis_of(x->shape, axis);
    dims.push_back(x->shape[int(axis)]);
    steps.push_back(strides[size_t(axis)]);
  }
  for (int64_t axis = 0; axis < x->shape.axes(); ++axis)
    if (std::count(order.begin(), order.end(), axis) != 1) node.fail("perm is not a permutation");
  node.set(0, picked(*x, Shape(dims), places(Shape(dims), 0, steps)));
}

void fold_gather(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand"), at = node.constant(1, "the indices");
  const int axis = node.axis_of(x->shape, node.integer("axis", 0));
  std::vector<int64_t> dims(x->shape.dims().begin(), x->shape.dims().begin() + axis);
  dims.insert(dims.end(), at->shape.dims().begin(), at->shape.dims().end());
  dims.insert(dims.end(), x->shape.dims().begin() + axis + 1, x->shape.dims().end());
  const Shape shape = shape_in(node, integers_of(dims));
  const int64_t extent = x->shape[axis], inner = x->shape.count(axis + 1);
  std::vector<size_t> taken;
  for (int64_t outer = 0; outer < x->shape.count(0, axis); ++outer)
    for (int64_t place : at->as_integers()) {
      if (place < 0) place += extent;
      if (place < 0 || place >= extent)
        node.fail("index " + std::to_string(place) + " is out of range for axis " + std::to_string(axis) + " of " +
                  x->shape.str());
      for (int64_t i = 0; i < inner; ++i) taken.push_back(size_t((outer * extent + place) * inner + i));
    }
  node.set(0, picked(*x, shape, taken));
}

void fold_concat(NodeReader& node) {
  Constant out = *node.constant(0, "an operand");
  const int axis = node.axis_of(out.shape, node.integer("axis", 0));
  for (size_t k = 1; k < node.inputs(); ++k) {
    const ConstantPtr next = node.constant(k, "an operand");
    Shape shape = out.shape;
    if (next->shape.axes() != shape.axes() || next->integers != out.integers)
      node.fail("constants of shapes " + shape.str() + " and " + next->shape.str() + " cannot be concatenated");
    shape[axis] += next->shape[axis];
    const int64_t a = out.shape.count(axis), b = next->shape.count(axis);
    Constant joined{.shape = shape, .integers = out.integers};
    if (shape.count() != out.shape.count() + next->shape.count() || shape.count() > kMaxFolded)
      node.fail("constants of shapes " + out.shape.str() + " and " + next->shape.str() + " cannot be concatenated");
    for (int64_t row = 0; row < shape.count(0, axis); ++row)
      for (const auto& [from, width] : {std::pair<const Constant*, int64_t>{&out, a}, {next.get(), b}})
        for (int64_t i = row * width; i < (row + 1) * width; ++i)
          joined.integers ? joined.ints.push_back(from->ints[size_t(i)])
                          : joined.floats.push_back(from->floats[size_t(i)]);
    out = std::move(joined);
  }
  node.set(0, std::move(out));
}

void fold_slice(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  const auto starts = node.list("starts", 1), ends = node.list("ends", 2), axes = node.list("axes", 3),
             steps = node.list("steps", 4);
  if (!starts || !ends || starts->size() != ends->size()) node.fail("starts and ends differ in length");
  Shape shape = x->shape;
  std::vector<int64_t> strides = strides_of(shape);
  int64_t start = 0;
  std::vector<bool> cut(size_t(shape.axes()), false);
  for (size_t i = 0; i < starts->size(); ++i) {
    if ((axes && axes->size() <= i) || (steps && steps->size() <= i))
      node.fail("axes or steps have fewer values than starts");
    const int axis = node.axis_of(x->shape, axes ? (*axes)[i] : int64_t(i));
    if (cut[size_t(axis)]) node.fail("axis " + std::to_string(axis) + " is sliced twice");
    cut[size_t(axis)] = true;
    const int64_t extent = x->shape[axis], step = steps ? (*steps)[i] : 1;
    if (step == 0 || step < -kMaxFolded || step > kMaxFolded)
      node.fail("step " + std::to_string(step) + " is out of range");
    const auto place = [&](int64_t at) {
      if (at < 0) at = std::max(at, -extent - 1) + extent;
      return std::clamp<int64_t>(at, step < 0 ? -1 : 0, step < 0 ? extent - 1 : extent);
    };
    const int64_t from = place((*starts)[i]), to = place((*ends)[i]);
    shape[axis] = std::max<int64_t>(0, step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step);
    start += from * strides[size_t(axis)];
    strides[size_t(axis)] *= step;
  }
  node.set(0, picked(*x, shape, places(shape, start, strides)));
}

void fold_range(NodeReader& node) {
  const ConstantPtr start = node.constant(0, "the start"), limit = node.constant(1, "the limit"),
                    delta = node.constant(2, "the step");
  if (start->count() != 1 || limit->count() != 1 || delta->count() != 1)
    node.fail("the operands are not single numbers");
  const double count = std::ceil((limit->at(0) - start->at(0)) / delta->at(0));
  if (!(count <= double(kMaxFolded))) node.fail("a range of " + std::to_string(count) + " numbers is too long");
  Constant out{.shape = {std::max<int64_t>(0, whole_part(count))}, .integers = start->integers && delta->integers};
  for (int64_t i = 0; i < out.shape[0]; ++i) {
    const double value = start->at(0) + double(i) * delta->at(0);
    out.integers ? out.ints.push_back(whole_part(value)) : out.floats.push_back(float(value));
  }
  node.set(0, std::move(out));
}

}  // namespace

void add_shape_folding(Table& table) {
  table.insert({{"Identity", fold_identity},
                {"Constant", fold_constant},
                {"ConstantOfShape", fold_constant_of_shape},
                {"Reshape", fold_reshape},
                {"Squeeze", fold_squeeze},
                {"Unsqueeze", fold_unsqueeze},
                {"Transpose", fold_transpose},
                {"Gather", fold_gather},
                {"Concat", fold_concat},
                {"Slice", fold_slice},
                {"Range", fold_range}});
}

}  // namespace cortado::importing
