// Reductions over axes. A Reduction layer takes all axes from one on, so reduced axes are moved after the others.
#include <algorithm>
#include <map>

#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

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

/// The shape with these axes set to 1, or removed.
std::vector<int64_t> result_shape(const Shape& x, const std::vector<int>& axes, bool keeps) {
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.axes(); ++axis) {
    const bool goes = std::count(axes.begin(), axes.end(), axis) > 0;
    if (!goes || keeps) dims.push_back(goes ? 1 : x[axis]);
  }
  return dims;
}

/// A reduction over the spatial axes is a global pooling.
void finish_global_reduction(NodeReader& node, const Blob& x, bool average, bool keeps) {
  caffe::LayerParameter layer = NodeReader::layer("Pooling");
  if (average) layer.mutable_pooling_param()->set_pool(caffe::PoolingParameter::AVE);
  layer.mutable_pooling_param()->set_global_pooling(true);
  if (keeps) return node.finish(layer, {x});
  node.finish_reshaped(node.add(layer, {x}), {0, -1});
}

/// A reduction over no axes is element-wise: the absolute value, the square, or the identity.
void finish_each_alone(NodeReader& node, const Blob& x) {
  if (node.op() == "ReduceL1" || node.op() == "ReduceL2") return node.finish(NodeReader::layer("AbsVal"), {x});
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
      {"ReduceSumSquare", caffe::ReductionParameter::SUMSQ},
      {"ReduceL2", caffe::ReductionParameter::SUMSQ}};
  const auto operation = operations.find(node.op());
  if (operation == operations.end()) node.fail("only a reduction over the spatial axes of images is supported");
  std::vector<int64_t> order;
  for (int axis = 0; axis < x.shape.axes(); ++axis)
    if (std::count(axes.begin(), axes.end(), axis) == 0) order.push_back(axis);
  const int kept = int(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  caffe::LayerParameter layer = NodeReader::layer("Reduction");
  layer.mutable_reduction_param()->set_operation(operation->second);
  layer.mutable_reduction_param()->set_axis(kept);
  Blob result = node.add(layer, {node.permuted(x, order)});
  if (node.op() == "ReduceL2") {
    caffe::LayerParameter root = NodeReader::layer("Power");
    root.mutable_power_param()->set_power(0.5f);
    result = node.add(root, {result});
  }
  node.finish_reshaped(result, result_shape(x.shape, axes, keeps));
}

void read_arg_max(NodeReader& node) {
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", 0));
  caffe::LayerParameter layer = NodeReader::layer("ArgMax");
  layer.mutable_argmax_param()->set_axis(axis);
  if (node.integer("keepdims", 1) != 0) return node.finish(layer, {x});
  const Blob places = node.add(layer, {x});
  node.finish_reshaped(places, result_shape(x.shape, {axis}, false));
}

}  // namespace

void add_reductions(Table& table) {
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMax"})
    table[op] = read_reduction;
  table["ArgMax"] = read_arg_max;
}

}  // namespace cortado::importing
