#include "onnx/export/layer_writer.h"

#include <algorithm>

namespace cortado::exporting {

std::string LayerWriter::node_name(const std::string& op) { return config.name() + "/" + op; }

std::string LayerWriter::add(const Operation& operation) { return add(operation, 1)[0]; }

std::vector<std::string> LayerWriter::add(const Operation& operation, size_t results) {
  std::vector<std::string> names;
  for (size_t i = 0; i < results; ++i) names.push_back(new_name(operation.op));
  add_named(operation, names);
  return names;
}

void LayerWriter::add_named(const Operation& operation, const std::vector<std::string>& results) {
  graph_.add_node(node_name(operation.op), operation, results);
}

std::string LayerWriter::new_name(const std::string& base) { return graph_.value_name(node_name(base)); }

void LayerWriter::finish(const Operation& operation, size_t top) {
  graph_.add_node(config.name(), operation, {y[top].name});
}

void LayerWriter::finish_all(const Operation& operation) {
  std::vector<std::string> names;
  for (const Operand& operand : y) names.push_back(operand.name);
  graph_.add_node(config.name(), operation, names);
}

void LayerWriter::finish_constant(std::span<const float> values) { graph_.named_floats(y[0].name, y[0].shape, values); }

Shape LayerWriter::weight_shape(int i) const {
  const auto& dims = config.blobs(i).shape().dim();
  return Shape(std::vector<int64_t>(dims.begin(), dims.end()));
}

std::span<const float> LayerWriter::values(int i) const {
  const auto& data = config.blobs(i).data();
  return {data.data(), size_t(data.size())};
}

std::string LayerWriter::weight(int i) { return weight(i, weight_shape(i)); }

std::string LayerWriter::weight(int i, const Shape& shape) {
  return graph_.floats(config.name() + "/" + std::to_string(i), shape, values(i));
}

std::string LayerWriter::number(float value) { return floats("number", {}, {&value, 1}); }

std::string LayerWriter::integer(int64_t value) { return graph_.integers(node_name("integer"), {}, {&value, 1}); }

std::string LayerWriter::floats(const std::string& name, const Shape& shape, std::span<const float> values) {
  return graph_.floats(node_name(name), shape, values);
}

std::string LayerWriter::integers(const std::string& name, const std::vector<int64_t>& values) {
  return graph_.integers(node_name(name), {int64_t(values.size())}, values);
}

std::vector<int64_t> LayerWriter::reshape_target(const Operand& from, const Operand& to) const {
  std::vector<int64_t> target;
  for (int axis = 0; axis < to.shape.axes(); ++axis) {
    const bool kept = axis < from.shape.axes() && from.axis_is_dynamic(axis) && from.shape[axis] == to.shape[axis];
    target.push_back(!to.axis_is_dynamic(axis) ? to.shape[axis] : kept ? 0 : -1);
  }
  const auto wanted = std::count(target.begin(), target.end(), -1);
  if (wanted > 1) refuse("two or more extents of its result grow with the batch, but ONNX's Reshape infers only one");
  return target;
}

std::string LayerWriter::reshaped(const Operand& from, const Operand& to) {
  return add({"Reshape", {from.name, integers("shape", reshape_target(from, to))}});
}

Operand LayerWriter::shaped(const Operand& like, const Shape& shape, const std::vector<int>& axes) {
  Operand out{like.name, shape, {}};
  for (const int axis : axes) out.dynamic.push_back(axis >= 0 && like.axis_is_dynamic(axis));
  return out;
}

void LayerWriter::refuse(const std::string& message, const std::string& hint, const std::string& field) const {
  throw Refusal{field, message, hint};
}

}  // namespace cortado::exporting
