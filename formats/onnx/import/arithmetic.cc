// Element-wise operators of two or more operands. ONNX broadcasts an operand over axes where its extent is 1. Scale and
// Bias broadcast theirs only over the axes before and after a range of equal axes. So the smaller operand is reduced to
// the range from its first to its last axis with an extent above 1, and expanded within the range.
#include "onnx/import/arithmetic.h"

#include <algorithm>
#include <limits>

#include "onnx/import/batch_constants.h"
#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// The range [first, end) of axes of x outside of which the smaller operand has extents of 1; empty if it is one
/// number.
struct Span {
  int first = 0, end = 0;
};

Span span_of(const Shape& x, const Shape& small) {
  const int behind = x.axes() - small.axes();
  Span span;
  for (int i = 0; i < small.axes(); ++i) {
    if (small[i] == 1) continue;
    if (span.end == 0) span.first = behind + i;
    span.end = behind + i + 1;
  }
  return span;
}

Shape shape_of(const Shape& x, const Span& span) {
  return Shape(std::vector<int64_t>(x.dims().begin() + span.first, x.dims().begin() + span.end));
}

/// The values of a constant expanded to the axes of x within its span.
std::vector<float> spread(NodeReader& node, const Shape& x, const Constant& small, const Span& span) {
  const int64_t count = x.count(span.first, span.end);
  if (count == int64_t(small.count())) return small.as_floats();
  if (count > kMaxFolded) node.fail("broadcasting " + small.shape.str() + " to " + x.str() + " is not supported");
  Shape own = shape_of(x, span);  // the constant's extents within the span
  for (int axis = span.first; axis < span.end; ++axis)
    own[axis - span.first] = small.shape[axis - (x.axes() - small.shape.axes())];
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[size_t(i)] = float(small.at(place_in(own, shape_of(x, span), i)));
  return values;
}

/// A Scale or a Bias with the operand at this axis.
caffe::LayerParameter broadcast_layer(bool product, int axis, int axes) {
  caffe::LayerParameter layer = NodeReader::layer(product ? "Scale" : "Bias");
  if (product) {
    layer.mutable_scale_param()->set_axis(axis);
    if (axes != 1) layer.mutable_scale_param()->set_num_axes(axes);
  } else {
    layer.mutable_bias_param()->set_axis(axis);
    if (axes != 1) layer.mutable_bias_param()->set_num_axes(axes);
  }
  return layer;
}

/// Combines x with a blob that is broadcast to x's shape.
Step with_smaller(NodeReader& node, const Blob& x, const Blob& small, bool product) {
  const Span span = span_of(x.shape, small.shape), own = span_of(small.shape, small.shape);
  const Blob inner = node.reshaped(small, shape_of(small.shape, own).dims());
  const Blob operand = expanded(node, inner, shape_of(x.shape, span));
  return {broadcast_layer(product, span.first, 1), {x, operand}};
}

}  // namespace

Step combined(NodeReader& node, const Blob& x, const Constant& given, bool product) {
  const Constant constant = without_batch(given, x.shape, node.batch());
  if (constant.count() == 1 && constant.shape.axes() <= x.shape.axes()) {
    caffe::LayerParameter power = NodeReader::layer("Power");
    product ? power.mutable_power_param()->set_scale(float(constant.at(0)))
            : power.mutable_power_param()->set_shift(float(constant.at(0)));
    return {power, {x}};
  }
  const Blob whole = expanded(node, x, common_shape(node, x.shape, constant.shape));
  const Span span = span_of(whole.shape, constant.shape);
  return {broadcast_layer(product, span.first, span.end - span.first),
          {whole},
          {weight_of(shape_of(whole.shape, span), spread(node, whole.shape, constant, span))}};
}

Step combined(NodeReader& node, const Blob& a, const Blob& b, bool product) {
  const Shape common = common_shape(node, a.shape, b.shape);
  if (a.shape == b.shape) {
    caffe::LayerParameter layer = NodeReader::layer("Eltwise");
    if (product) layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
    return {layer, {a, b}};
  }
  if (a.shape == common) return with_smaller(node, a, b, product);
  if (b.shape == common) return with_smaller(node, b, a, product);
  const bool expands_a = a.shape.count() >= b.shape.count();  // the larger one: it more likely has the batch
  return with_smaller(node, expanded(node, expands_a ? a : b, common), expands_a ? b : a, product);
}

Step combined_with_input(NodeReader& node, const Blob& x, size_t i, bool product) {
  if (node.is_constant(i)) return combined(node, x, *node.constant(i, "an operand"), product);
  return combined(node, x, node.x(i), product);
}

namespace {

void finish(NodeReader& node, bool product) {
  const bool first_is_constant = node.is_constant(0);
  node.finish(combined_with_input(node, node.x(first_is_constant ? 1 : 0), first_is_constant ? 0 : 1, product));
}

void read_add(NodeReader& node) { finish(node, false); }
void read_mul(NodeReader& node) { finish(node, true); }

Constant changed(const Constant& constant, float (*change)(float)) {
  Constant out{.shape = constant.shape, .floats = constant.as_floats()};
  for (float& value : out.floats) value = change(value);
  return out;
}

}  // namespace

Step difference(NodeReader& node) {
  if (node.is_constant(1))
    return combined(node, node.x(0), changed(*node.constant(1, "an operand"), [](float v) { return -v; }), false);
  return combined_with_input(node, powered(node, node.x(1), -1), 0, false);
}

namespace {

void read_sub(NodeReader& node) { node.finish(difference(node)); }

void read_div(NodeReader& node) {
  if (node.is_constant(1))
    return node.finish(
        combined(node, node.x(0), changed(*node.constant(1, "an operand"), [](float v) { return 1 / v; }), true));
  node.finish(combined_with_input(node, powered(node, node.x(1), 1, 0, -1), 0, true));
}

caffe::LayerParameter eltwise(caffe::EltwiseParameter::EltwiseOp operation) {
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  if (operation != caffe::EltwiseParameter::SUM) layer.mutable_eltwise_param()->set_operation(operation);
  return layer;
}

/// The sum or the mean of any number of tensors.
void read_sum(NodeReader& node) {
  const std::vector<Blob> bottoms = broadcast_inputs(node);
  if (bottoms.size() == 1) return node.set(0, bottoms[0]);
  caffe::LayerParameter layer = eltwise(caffe::EltwiseParameter::SUM);
  if (node.op() == "Mean")
    for (size_t i = 0; i < bottoms.size(); ++i) layer.mutable_eltwise_param()->add_coeff(1 / float(bottoms.size()));
  node.finish(layer, bottoms);
}

/// The constant number of two inputs of which one is constant, if it does not broadcast the other.
std::optional<size_t> only_number(const NodeReader& node) {
  for (const size_t i : {size_t(0), size_t(1)})
    if (node.inputs() == 2 && node.is_constant(i) && !node.is_constant(1 - i)) {
      const ConstantPtr number = node.constant(i, "the bound");
      if (number->count() == 1 && number->shape.axes() <= node.value(1 - i).blob.shape.axes()) return i;
    }
  return std::nullopt;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void read_max(NodeReader& node) {
  if (const auto bound = only_number(node))
    return node.finish(clip_layer(float(node.constant(*bound, "the bound")->at(0)), kInfinity), {node.x(1 - *bound)});
  const std::vector<Blob> bottoms = broadcast_inputs(node);
  if (bottoms.size() == 1) return node.set(0, bottoms[0]);
  node.finish(eltwise(caffe::EltwiseParameter::MAX), bottoms);
}

/// -max(-a, -b)
void read_min(NodeReader& node) {
  if (const auto bound = only_number(node))
    return node.finish(clip_layer(-kInfinity, float(node.constant(*bound, "the bound")->at(0))), {node.x(1 - *bound)});
  std::vector<Blob> bottoms = broadcast_inputs(node);
  if (bottoms.size() == 1) return node.set(0, bottoms[0]);
  for (Blob& bottom : bottoms) bottom = powered(node, bottom, -1);
  caffe::LayerParameter minus = NodeReader::layer("Power");
  minus.mutable_power_param()->set_scale(-1);
  node.finish(minus, {node.add(eltwise(caffe::EltwiseParameter::MAX), bottoms)});
}

}  // namespace

void add_arithmetic(Table& table) {
  table.insert({{"Add", read_add},
                {"Sub", read_sub},
                {"Mul", read_mul},
                {"Div", read_div},
                {"Sum", read_sum},
                {"Mean", read_sum},
                {"Max", read_max},
                {"Min", read_min}});
}

}  // namespace cortado::importing
