#pragma once

// Short forms of frequent operators, for layers that become many nodes. Each adds one node and returns its result.

#include <span>
#include <string>
#include <vector>

#include "onnx/export/layer_writer.h"

namespace cortado::exporting {

inline std::string binary(LayerWriter& layer, const std::string& op, const std::string& a, const std::string& b) {
  return layer.add({op, {a, b}});
}

inline std::string unary(LayerWriter& layer, const std::string& op, const std::string& x) {
  return layer.add({op, {x}});
}

inline std::string cast(LayerWriter& layer, const std::string& x, int64_t type) {
  return layer.add({"Cast", {x}, {{"to", type}}});
}
inline std::string as_float(LayerWriter& layer, const std::string& x) {
  return cast(layer, x, onnx::TensorProto::FLOAT);
}
inline std::string as_integer(LayerWriter& layer, const std::string& x) {
  return cast(layer, x, onnx::TensorProto::INT64);
}

/// A Reshape; at most one extent is -1.
inline std::string reshape(LayerWriter& layer, const std::string& x, const std::vector<int64_t>& dims) {
  return layer.add({"Reshape", {x, layer.integers("shape", dims)}});
}

inline std::string transpose(LayerWriter& layer, const std::string& x, const std::vector<int64_t>& order) {
  return layer.add({"Transpose", {x}, {{"perm", order}}});
}

inline std::string concat(LayerWriter& layer, const std::vector<std::string>& parts, int64_t axis) {
  return layer.add({"Concat", parts, {{"axis", axis}}});
}

/// Elements from `begin` until before `end` of one axis.
inline std::string range_of(LayerWriter& layer, const std::string& x, int64_t axis, int64_t begin, int64_t end) {
  return layer.add(
      {"Slice", {x, layer.integers("starts", {begin}), layer.integers("ends", {end}), layer.integers("axes", {axis})}});
}

/// `parts` equal parts of an axis.
inline std::vector<std::string> split(LayerWriter& layer, const std::string& x, int64_t axis, size_t parts) {
  return layer.add({"Split", {x}, {{"axis", axis}}}, parts);
}

inline std::string gather(LayerWriter& layer, const std::string& x, const std::vector<int64_t>& which, int64_t axis) {
  return layer.add({"Gather", {x, layer.integers("indices", which)}, {{"axis", axis}}});
}

inline int dynamic_axis(const Operand& x) {
  int axis = 0;
  while (axis < x.shape.axes() && !x.axis_is_dynamic(axis)) ++axis;
  return axis;
}

/// Makes y[0] by repeating `once`. Its dynamic extents are those of x[0] along `axis`.
inline void finish_expanded(LayerWriter& layer, const std::string& once, int64_t axis) {
  const std::string batch = gather(layer, unary(layer, "Shape", layer.x[0].name), {axis}, 0);
  std::vector<std::string> extents;
  for (int i = 0; i < layer.y[0].shape.axes(); ++i)
    extents.push_back(layer.y[0].axis_is_dynamic(i) ? batch : layer.integers("extent", {layer.y[0].shape[i]}));
  layer.finish({"Expand", {once, extents.size() == 1 ? extents[0] : concat(layer, extents, 0)}});
}

/// A running average in Caffe's format, one number for each channel: blob `sums` divided by the number in blob
/// `factor`, where 0 means that it is empty.
inline std::string running_average(LayerWriter& layer, const std::string& name, int sums, int factor) {
  const std::span<const float> values = layer.values(sums);
  const float divisor = layer.values(factor)[0], scale = divisor == 0 ? 0 : 1 / divisor;
  std::vector<float> average(values.begin(), values.end());
  for (float& value : average) value *= scale;
  return layer.floats(name, {int64_t(average.size())}, average);
}

/// Limits x to [0, most].
inline std::string limited(LayerWriter& layer, const std::string& x, const std::string& most) {
  return binary(layer, "Min", binary(layer, "Max", x, layer.number(0)), most);
}

}  // namespace cortado::exporting
