#include "onnx/export/tensors.h"

#include <cstring>

namespace cortado::exporting {

std::vector<float> floats_of(const onnx::TensorProto& tensor) {
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(float));
  return values;
}

void append_node(onnx::GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& output, const std::string& attribute, int64_t value) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_name(output + "/" + op);
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  if (attribute.empty()) return;
  onnx::AttributeProto& one = *node.add_attribute();
  one.set_name(attribute);
  one.set_type(onnx::AttributeProto::INT);
  one.set_i(value);
}

}  // namespace cortado::exporting
