#include "onnx/import/patterns.h"

#include <cmath>
#include <set>

#include "onnx/graph_index.h"

namespace cortado::importing {

namespace {

using Node = onnx::NodeProto;

class GeluFinder {
 public:
  GeluFinder(onnx::GraphProto& graph, const ModelFile& file) : graph_(graph), file_(file), index_(graph) {}

  void run() {
    for (Node& node : *graph_.mutable_node())
      if (node.op_type() == "Erf" && node.input_size() == 1) merge(node);
  }

 private:
  /// The only value of a small constant, or NaN.
  double number(const std::string& name) const {
    const onnx::TensorProto* tensor = index_.tensor(name);
    if (const Node* node = index_.maker(name); node && node->op_type() == "Constant" && node->attribute_size() == 1)
      tensor = &node->attribute(0).t();
    if (!tensor || tensor->data_location() == onnx::TensorProto::EXTERNAL || tensor->raw_data().size() > 8)
      return std::nan("");
    const Constant value = file_.read(*tensor);
    return value.count() == 1 ? value.at(0) : std::nan("");
  }
  bool is(const std::string& name, double wanted) const { return std::abs(number(name) - wanted) < 1e-4; }

  /// The operand of `node` that is not a constant of this value; "" where it has none such.
  std::string other(const Node* node, const std::string& op, double constant) const {
    if (!node || node->op_type() != op || node->input_size() != 2) return "";
    if (is(node->input(1), constant)) return node->input(0);
    return op != "Div" && is(node->input(0), constant) ? node->input(1) : "";
  }

  void merge(const Node& erf) {
    const Node* scaled = index_.maker(erf.input(0));
    std::string x = other(scaled, "Div", M_SQRT2);
    if (x.empty()) x = other(scaled, "Mul", M_SQRT1_2);
    Node* sum = index_.only_reader(erf.output(0));
    if (x.empty() || other(sum, "Add", 1) != erf.output(0)) return;
    Node* product = index_.only_reader(sum->output(0));
    if (!product || product->op_type() != "Mul" || product->input_size() != 2) return;
    const std::string factor = product->input(product->input(0) == sum->output(0) ? 1 : 0);
    if (other(index_.maker(factor), "Mul", 0.5) == x) return replace(*product, x);
    Node* half = index_.only_reader(product->output(0));
    if (factor == x && other(half, "Mul", 0.5) == product->output(0)) replace(*half, x);
  }

  static void replace(Node& node, const std::string& x) {
    node.set_op_type("Gelu");
    node.clear_input();
    node.add_input(x);
  }

  onnx::GraphProto& graph_;
  const ModelFile& file_;
  GraphIndex index_;
};

}  // namespace

void merge_gelu(onnx::GraphProto& graph, const ModelFile& file) { GeluFinder(graph, file).run(); }

void remove_dead_nodes(onnx::GraphProto& graph) {
  std::set<std::string> wanted;
  for (const onnx::ValueInfoProto& output : graph.output()) wanted.insert(output.name());
  onnx::GraphProto kept;
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    Node& node = *graph.mutable_node(i);
    bool needed = false;
    for (const std::string& output : node.output()) needed = needed || wanted.contains(output);
    if (!needed) continue;
    for (const std::string& input : node.input()) wanted.insert(input);
    kept.add_node()->Swap(&node);
  }
  graph.clear_node();
  for (int i = kept.node_size() - 1; i >= 0; --i) graph.add_node()->Swap(kept.mutable_node(i));
}

}  // namespace cortado::importing
