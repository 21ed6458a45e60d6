// Reductions over axes. A Reduction layer takes all axes from one on, so reduced axes are moved after the others.
// Maxima are global poolings, products the product of slices.
#include "onnx/import/reductions.h"

#include <algorithm>
#include <limits>
#include <map>

#include "onnx/import/arithmetic.h"
#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// A reduction over the spatial axes is a global pooling.
void finish_global_reduction(NodeReader& node, const Blob& x, bool average, bool keeps) {
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  if (average) layer.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  layer.mutable_pooling_param()->set_global_pooling(true);
  if (keeps) return node.finish(layer, {x});
  node.finish_reshaped(node.add(layer, {x}), {0, -1});
}

/// x with these axes moved to the end; `kept` is the number of the others.
Blob with_axes_last(NodeReader& node, const Blob& x, const std::vector<int>& axes, int& kept) {
  std::vector<int64_t> order;
  for (int axis = 0; axis < x.shape.axes(); ++axis)
    if (std::count(axes.begin(), axes.end(), axis) == 0) order.push_back(axis);
  kept = int(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  return node.permuted(x, order);
}

/// The product of slices along the reduced axes.
Blob product_over(NodeReader& node, const Blob& x, const std::vector<int>& axes) {
  constexpr int64_t kMaxFactors = 256;
  int kept = 0;
  const Blob last = with_axes_last(node, x, axes, kept);
  std::vector<int64_t> target(size_t(kept), 0);
  target.push_back(-1);
  const Blob lists = node.reshaped(last, target);
  const int64_t factors = lists.shape[kept];
  if (factors == 1) return lists;
  if (node.batch().in(factors)) node.fail("a product over the batch is not supported");
  if (factors > kMaxFactors) node.fail("a product of " + std::to_string(factors) + " values is not supported");
  caffe::LayerParameter slice = NodeReader::layer("Slice");
  slice.mutable_slice_param()->set_axis(kept);
  caffe::LayerParameter product = NodeReader::layer("Eltwise");
  product.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  return node.add(product, node.add_many(slice, {lists}, size_t(factors)));
}

/// max + ln(sum(e^(x - max))), so that the powers do not overflow. An infinite maximum is replaced by a finite one.
Blob log_sum_exp(NodeReader& node, const Blob& x, const std::vector<int>& axes) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const Blob most = node.add(clip_layer(-kMost, kMost), {largest(node, x, axes)});
  const Blob less = node.add(combined(node, x, powered(node, most, -1), false));
  const Blob sum = reduced(node, node.add(NodeReader::layer("Exp"), {less}), axes, caffe::ReductionParameter::SUM);
  return node.add(combined(node, node.add(NodeReader::layer("Log"), {sum}), most, false));
}

/// The result of operators that no Reduction layer computes, with the reduced axes as 1 or in another shape.
Blob composed_reduction(NodeReader& node, const Blob& x, const std::vector<int>& axes) {
  if (node.op() == "ReduceMax") return largest(node, x, axes);
  if (node.op() == "ReduceMin") return powered(node, largest(node, powered(node, x, -1), axes), -1);
  if (node.op() == "ReduceProd") return product_over(node, x, axes);
  if (node.op() == "ReduceLogSumExp") return log_sum_exp(node, x, axes);
  const Blob sum = reduced(node, x, axes,
                           node.op() == "ReduceL2" ? caffe::ReductionParameter::SUMSQ : caffe::ReductionParameter::SUM);
  if (node.op() == "ReduceLogSum") return node.add(NodeReader::layer("Log"), {sum});
  return powered(node, sum, 1, 0, 0.5f);  // ReduceL2
}

/// A reduction over no axes is element-wise: the absolute value, the square, the logarithm, or the identity.
void finish_each_alone(NodeReader& node, const Blob& x) {
  if (node.op() == "ReduceL1" || node.op() == "ReduceL2") return node.finish(NodeReader::layer("AbsVal"), {x});
  if (node.op() == "ReduceLogSum") return node.finish(NodeReader::layer("Log"), {x});
  if (node.op() != "ReduceSumSquare") return node.set(0, x);
  caffe::LayerParameter square = NodeReader::layer("Power");
  square.mutable_power_param()->set_power(2);
  node.finish(square, {x});
}

void read_reduction(NodeReader& node) {
  const Blob x = node.x(0);
  const std::vector<int> axes = reduced_axes(node, x.shape);
  const bool keeps = node.integer("keepdims", 1) != 0;
  if (axes.empty()) return finish_each_alone(node, x);
  const bool places = x.shape.axes() == 4 && axes == std::vector<int>{2, 3};
  if (places && (node.op() == "ReduceMean" || node.op() == "ReduceMax"))
    return finish_global_reduction(node, x, node.op() == "ReduceMean", keeps);
  static const std::map<std::string, caffe::ReductionParameter::ReductionOp> operations = {
      {"ReduceMean", caffe::ReductionParameter::MEAN},
      {"ReduceSum", caffe::ReductionParameter::SUM},
      {"ReduceL1", caffe::ReductionParameter::ASUM},
      {"ReduceSumSquare", caffe::ReductionParameter::SUMSQ}};
  const auto operation = operations.find(node.op());
  if (operation != operations.end()) return node.set(0, reduced(node, x, axes, operation->second, keeps));
  node.finish_reshaped(composed_reduction(node, x, axes), result_shape(x.shape, axes, keeps));
}

/// The index of the largest value, the first of equal ones. The layer takes the last one, so the axis is reversed, and
/// the index is counted from the end.
void read_arg_max(NodeReader& node) {
  Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", 0));
  const bool takes_last = node.integer("select_last_index", 0) != 0;
  if (node.op() == "ArgMin") x = powered(node, x, -1);
  if (!takes_last && node.batch().in(x.shape[axis])) node.fail("the index along the batch depends on its size");
  if (!takes_last) {
    caffe::LayerParameter reverse = NodeReader::layer("Reverse");
    reverse.mutable_reverse_param()->set_axis(axis);
    x = node.add(reverse, {x});
  }
  caffe::LayerParameter layer = NodeReader::layer("ArgMax");
  layer.mutable_argmax_param()->set_axis(axis);
  Blob places = node.add(layer, {x});
  if (!takes_last) places = powered(node, places, -1, float(x.shape[axis] - 1));
  node.finish_reshaped(places, result_shape(x.shape, {axis}, node.integer("keepdims", 1) != 0));
}

}  // namespace

std::vector<int> reduced_axes(const NodeReader& node, const Shape& x) {
  std::vector<int> axes;
  const auto given = node.list("axes", 1);
  if (!given || given->empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) return axes;
    for (int axis = 0; axis < x.axes(); ++axis) axes.push_back(axis);
    return axes;
  }
  for (const int64_t axis : *given) axes.push_back(node.axis_of(x, axis));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

std::vector<int64_t> result_shape(const Shape& x, const std::vector<int>& axes, bool keeps) {
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.axes(); ++axis) {
    const bool goes = std::count(axes.begin(), axes.end(), axis) > 0;
    if (!goes || keeps) dims.push_back(goes ? 1 : x[axis]);
  }
  return dims;
}

Blob reduced(NodeReader& node, const Blob& x, const std::vector<int>& axes,
             caffe::ReductionParameter::ReductionOp operation, bool keeps) {
  int kept = 0;
  const Blob last = with_axes_last(node, x, axes, kept);
  caffe::LayerParameter layer = NodeReader::layer("Reduction");
  layer.mutable_reduction_param()->set_operation(operation);
  layer.mutable_reduction_param()->set_axis(kept);
  return node.reshaped(node.add(layer, {last}), result_shape(x.shape, axes, keeps));
}

/// The other axes become channels of images with one row each.
Blob largest(NodeReader& node, const Blob& x, const std::vector<int>& axes) {
  int kept = 0;
  const Blob last = with_axes_last(node, x, axes, kept);
  std::vector<int64_t> target = {1, 1, 1, last.shape.count(kept)};
  if (kept > 0) target[0] = last.shape[0];
  if (kept > 1) target[1] = last.shape.count(1, kept);
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  layer.mutable_pooling_param()->set_global_pooling(true);
  return node.reshaped(node.add(layer, {node.reshaped(last, target)}), result_shape(x.shape, axes, true));
}

std::vector<int> axes_from(const Shape& x, int axis) {
  std::vector<int> axes;
  for (; axis < x.axes(); ++axis) axes.push_back(axis);
  return axes;
}

void add_reductions(Table& table) {
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMax", "ReduceMin",
                         "ReduceProd", "ReduceLogSum", "ReduceLogSumExp"})
    table[op] = read_reduction;
  table["ArgMax"] = table["ArgMin"] = read_arg_max;
}

}  // namespace cortado::importing
