// Comparisons, whose results are 0 or 1, logic with them, and selection by a constant condition. Blobs are floats, so
// the model's Cast after a comparison is the identity.
#include <cmath>
#include <limits>

#include "onnx/import/arithmetic.h"
#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();

caffe::LayerParameter above(float threshold) {
  caffe::LayerParameter layer = NodeReader::layer("Threshold");
  if (threshold != 0) layer.mutable_threshold_param()->set_threshold(threshold);
  return layer;
}

caffe::LayerParameter product_layer() {
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  return layer;
}

caffe::LayerParameter maximum_layer() {
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::MAX);
  return layer;
}

caffe::LayerParameter opposite_layer() {
  caffe::LayerParameter layer = NodeReader::layer("Power");
  layer.mutable_power_param()->set_scale(-1);
  layer.mutable_power_param()->set_shift(1);
  return layer;
}

/// The largest float below a bound: x >= bound is x > this.
float below(const NodeReader& node, float bound) {
  if (std::isnan(bound) || bound == -kEndless) node.fail("the bound " + std::to_string(bound) + " is not supported");
  return std::nextafter(bound, -kEndless);
}

/// 1 where x is a number.
Blob is_number(NodeReader& node, const Blob& x) {
  const Blob above_least = node.add(above(-kEndless), {x});
  const Blob is_least = node.add(above(std::numeric_limits<float>::max()), {powered(node, x, -1)});
  return node.add(maximum_layer(), {above_least, is_least});
}

/// 1 where a >= b: both are numbers, and b is not larger.
Blob at_least(NodeReader& node, const Blob& a, const Blob& b) {
  const Blob less = node.add(above(0), {node.add(combined(node, b, powered(node, a, -1), false))});
  const Blob opposite = node.add(opposite_layer(), {less});
  return node.add(product_layer(), {is_number(node, a), is_number(node, b), opposite});
}

/// Input `first` > input `second`, or >= if `equal`.
void finish_greater(NodeReader& node, size_t first, size_t second, bool equal) {
  for (const size_t i : {first, second}) {
    if (!node.is_constant(i) || node.constant(i, "the bound")->count() != 1) continue;
    const Blob x = node.x(1 - i);
    const float bound = float(node.constant(i, "the bound")->at(0)) * (i == first ? -1.f : 1.f);
    if (node.constant(i, "the bound")->shape.axes() > x.shape.axes()) continue;
    return node.finish(above(equal ? below(node, bound) : bound), {i == first ? powered(node, x, -1) : x});
  }
  const std::vector<Blob> both = broadcast_inputs(node);
  if (both.size() != 2) node.fail("it must have two inputs");
  if (equal) return node.set(0, at_least(node, both[first], both[second]));
  const Blob minus = powered(node, both[second], -1);
  node.finish(above(0), {node.add(combined(node, both[first], minus, false))});
}

void read_equal(NodeReader& node) {
  const std::vector<Blob> both = broadcast_inputs(node);
  if (both.size() != 2) node.fail("it must have two inputs");
  node.finish(product_layer(), {at_least(node, both[0], both[1]), at_least(node, both[1], both[0])});
}

void read_or(NodeReader& node) { node.finish(maximum_layer(), broadcast_inputs(node)); }
void read_and(NodeReader& node) { node.finish(product_layer(), broadcast_inputs(node)); }
void read_not(NodeReader& node) { node.finish(opposite_layer(), {node.x(0)}); }

/// The condition broadcast over the axes [first, end) of a shape.
std::vector<bool> spread_condition(const Constant& which, const Shape& common, int first, int end) {
  std::vector<int64_t> own, all(common.dims().begin() + first, common.dims().begin() + end);
  for (int axis = first; axis < end; ++axis) own.push_back(which.shape[axis - (common.axes() - which.shape.axes())]);
  std::vector<bool> values;
  for (int64_t i = 0; i < common.count(first, end); ++i)
    values.push_back(which.at(place_in(Shape(own), Shape(all), i)) != 0);
  return values;
}

/// Joins both operands along the axes of the condition, and selects from them.
void read_where(NodeReader& node) {
  const ConstantPtr which = node.constant(0, "the condition");
  Blob a = node.x(1), b = node.x(2);
  const Shape common = common_shape(node, common_shape(node, a.shape, b.shape), which->shape);
  a = expanded(node, a, common);
  b = expanded(node, b, common);
  int first = common.axes() - which->shape.axes(), end = common.axes();
  while (first < end && which->shape[first - common.axes() + which->shape.axes()] == 1) ++first;
  if (first == end) return node.set(0, which->at(0) != 0 ? a : b);
  const int64_t places = common.count(first, end);
  if (places > kMaxFolded) node.fail("a condition of " + std::to_string(places) + " places is not supported");
  std::vector<int64_t> target(common.dims().begin(), common.dims().begin() + first), indices;
  target.push_back(places);
  const Blob joint = joined(node, {node.reshaped(a, target), node.reshaped(b, target)}, first);
  for (const bool takes_a : spread_condition(*which, common, first, end))
    indices.push_back(int64_t(indices.size()) + (takes_a ? 0 : places));
  node.finish_reshaped(gathered(node, joint, first, indices), common.dims());
}

/// [x > 0] - [x < 0]
void read_sign(NodeReader& node) {
  const Blob x = node.x(0);
  caffe::LayerParameter less = NodeReader::layer("Eltwise");
  less.mutable_eltwise_param()->add_coeff(1);
  less.mutable_eltwise_param()->add_coeff(-1);
  node.finish(less, {node.add(above(0), {x}), node.add(above(0), {powered(node, x, -1)})});
}

}  // namespace

void add_comparisons(Table& table) {
  table.insert({{"Greater", [](NodeReader& node) { finish_greater(node, 0, 1, false); }},
                {"Less", [](NodeReader& node) { finish_greater(node, 1, 0, false); }},
                {"GreaterOrEqual", [](NodeReader& node) { finish_greater(node, 0, 1, true); }},
                {"LessOrEqual", [](NodeReader& node) { finish_greater(node, 1, 0, true); }},
                {"Equal", read_equal},
                {"And", read_and},
                {"Or", read_or},
                {"Not", read_not},
                {"Where", read_where},
                {"Sign", read_sign}});
}

}  // namespace cortado::importing
