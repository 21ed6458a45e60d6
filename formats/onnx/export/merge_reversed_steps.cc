#include "onnx/export/simplify.h"
#include "onnx/graph_index.h"

namespace cortado::exporting {

namespace {

int64_t first_integer(const onnx::TensorProto* tensor, int64_t absent) {
  if (!tensor || tensor->data_type() != onnx::TensorProto::INT64 || tensor->raw_data().size() != sizeof(int64_t))
    return absent;
  int64_t value;
  tensor->raw_data().copy(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}

/// Whether the node is a Slice that reverses axis 0; starts, ends, axes and steps are initializers.
bool turns_steps(const GraphIndex& index, const onnx::NodeProto* node) {
  return node && node->op_type() == "Slice" && node->input_size() == 5 &&
         first_integer(index.tensor(node->input(3)), -1) == 0 && first_integer(index.tensor(node->input(4)), 0) == -1;
}

}  // namespace

/// Matches a reversal, an LSTM, the node that removes its direction axis, and another reversal.
void merge_reversed_steps(onnx::GraphProto& graph) {
  GraphIndex index(graph);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (node.op_type() != "LSTM") continue;
    onnx::NodeProto* before = index.maker(node.input(0));
    onnx::NodeProto* flat = index.only_reader(node.output(0));
    onnx::NodeProto* behind = flat ? index.only_reader(flat->output(0)) : nullptr;
    if (!turns_steps(index, before) || !turns_steps(index, behind)) continue;
    onnx::AttributeProto& direction = *node.add_attribute();
    direction.set_name("direction");
    direction.set_type(onnx::AttributeProto::STRING);
    direction.set_s("reverse");
    index.absorb(*flat, *behind);
    index.bypass(node, *before);
  }
  index.sweep();
}

}  // namespace cortado::exporting
