#include "onnx/export/graph_writer.h"

#include "core/files/crc.h"

namespace cortado::exporting {

namespace {

void set_value(const Attribute& attribute, onnx::AttributeProto& out) {
  out.set_name(attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    out.set_type(onnx::AttributeProto::INT);
    out.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    out.set_type(onnx::AttributeProto::FLOAT);
    out.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    out.set_type(onnx::AttributeProto::STRING);
    out.set_s(*text);
  } else {
    out.set_type(onnx::AttributeProto::INTS);
    for (const int64_t one : std::get<std::vector<int64_t>>(attribute.value)) out.add_ints(one);
  }
}

template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

std::string GraphWriter::unused(std::set<std::string>& names, const std::string& base) {
  std::string name = base;
  for (int n = 2; !names.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  return name;
}

void GraphWriter::add_node(const std::string& base, const Operation& operation,
                           const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_name(unused(nodes_, base));
  node.set_op_type(operation.op);
  for (const std::string& input : operation.inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  for (const Attribute& attribute : operation.attributes) set_value(attribute, *node.add_attribute());
}

void GraphWriter::add_tensor(const std::string& name, onnx::TensorProto::DataType type, const Shape& shape,
                             std::string_view bytes) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t dim : shape.dims()) tensor.add_dims(dim);
  if (digests_)
    tensor.set_raw_data(std::to_string(crc32c_of(bytes)));
  else
    tensor.set_raw_data(bytes.data(), bytes.size());
}

std::string GraphWriter::floats(const std::string& base, const Shape& shape, std::span<const float> values) {
  const std::string name = value_name(base);
  named_floats(name, shape, values);
  return name;
}

void GraphWriter::named_floats(const std::string& name, const Shape& shape, std::span<const float> values) {
  add_tensor(name, onnx::TensorProto::FLOAT, shape, bytes_of(values));
}

std::string GraphWriter::integers(const std::string& base, const Shape& shape, std::span<const int64_t> values) {
  const std::string name = value_name(base);
  add_tensor(name, onnx::TensorProto::INT64, shape, bytes_of(values));
  return name;
}

}  // namespace cortado::exporting
