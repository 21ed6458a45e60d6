#include "onnx/export/half.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/half.h"
#include "onnx/export/tensors.h"
#include "onnx/graph_index.h"

namespace cortado::exporting {

namespace {

constexpr float kLargestHalf = 65504;
constexpr int kFloat = onnx::TensorProto::FLOAT, kHalf = onnx::TensorProto::FLOAT16;
const std::set<std::string> kMovers = {"Concat", "Expand", "Flatten", "Gather", "Identity",  "Pad",      "Reshape",
                                       "Slice",  "Split",  "Squeeze", "Tile",   "Transpose", "Unsqueeze"};

bool fits_in_half(const onnx::TensorProto& tensor) {
  if (tensor.data_type() != kFloat) return true;
  const std::vector<float> values = floats_of(tensor);
  return std::all_of(values.begin(), values.end(), [](float value) { return std::fabs(value) <= kLargestHalf; });
}

void fill_with_halves(const onnx::TensorProto& tensor, const std::string& name, onnx::TensorProto& out) {
  std::vector<uint16_t> bits;
  for (const float value : floats_of(tensor)) bits.push_back(half_bits(value));
  out.set_name(name);
  out.set_data_type(kHalf);
  *out.mutable_dims() = tensor.dims();
  out.set_raw_data(bits.data(), bits.size() * sizeof(uint16_t));
}

/// The type of result `i` of a node whose first operand has type `first`.
int result_type(const onnx::NodeProto& node, int i, int first, const std::map<std::string, int>& types) {
  static const std::set<std::string> integers = {"ArgMax", "NonMaxSuppression", "NonZero", "Shape"};
  static const std::set<std::string> truths = {"And", "Equal", "Greater", "GreaterOrEqual", "Not"};
  if (integers.contains(node.op_type()) || (i == 1 && (node.op_type() == "TopK" || node.op_type() == "MaxPool")))
    return onnx::TensorProto::INT64;
  if (truths.contains(node.op_type())) return onnx::TensorProto::BOOL;
  if (node.op_type() == "Cast") return int(node.attribute(0).i());
  if (node.op_type() == "DequantizeLinear") return kFloat;
  if (node.op_type() == "QuantizeLinear") return types.at(node.input(2));
  return node.op_type() == "Where" ? types.at(node.input(1)) : first;
}

class HalfConverter {
 public:
  HalfConverter(onnx::GraphProto& graph, const std::set<std::string>& float_nodes)
      : graph_(graph), float_nodes_(float_nodes) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      types_[tensor.name()] = tensor.data_type();
      constants_[tensor.name()] = tensor;
    }
    for (const onnx::NodeProto& node : graph.node()) taken_.insert(node.output().begin(), node.output().end());
    for (const onnx::ValueInfoProto& input : graph.input()) types_[input.name()] = kFloat;
    for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
  }

  void run() {
    onnx::GraphProto before;
    before.mutable_node()->Swap(graph_.mutable_node());
    for (const onnx::NodeProto& node : before.node()) write(node);
    GraphIndex(graph_).sweep();
  }

 private:
  bool is_float(const std::string& value) const {
    const auto found = types_.find(value);
    return found != types_.end() && found->second == kFloat;
  }

  /// Nodes that only move values keep the type in which they find them.
  bool computes_in_half(const onnx::NodeProto& node) const {
    if (float_nodes_.contains(node.name())) return false;
    bool finds_half = !kMovers.contains(node.op_type());
    for (const std::string& input : node.input()) {
      const auto constant = constants_.find(input);
      if (constant != constants_.end() && !fits_in_half(constant->second)) return false;
      finds_half = finds_half || computed_.contains(input);
    }
    return finds_half;
  }

  void write(const onnx::NodeProto& node) {
    const bool half = computes_in_half(node);
    onnx::NodeProto copy = node;
    for (int i = 0; i < node.input_size(); ++i) {
      const bool scales = node.op_type() == "Resize" && i > 0;  // always 32-bit floats
      if (is_float(node.input(i)))
        copy.set_input(i, half && !scales ? as_half(node.input(i)) : as_float(node.input(i)));
    }
    if (half && node.op_type() == "Cast" && node.attribute(0).i() == kFloat) copy.mutable_attribute(0)->set_i(kHalf);
    const auto first = node.input_size() > 0 ? types_.find(node.input(0)) : types_.end();
    std::vector<std::string> whole;  // results that the model must have as 32-bit floats
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      types_[name] = result_type(node, i, first == types_.end() ? kFloat : first->second, types_);
      if (!half || !is_float(name)) continue;
      computed_.insert(name);
      halves_[name] = outputs_.contains(name) ? unused(name + "/half") : name;
      copy.set_output(i, halves_[name]);
      if (outputs_.contains(name)) whole.push_back(name);
    }
    *graph_.add_node() = copy;
    for (const std::string& name : whole) append_node(graph_, "Cast", {halves_[name]}, name, "to", kFloat);
    for (const std::string& name : whole) floats_[name] = name;
  }

  std::string as_half(const std::string& value) {
    const auto found = halves_.find(value);
    if (found != halves_.end()) return found->second;
    const std::string name = unused(value + "/half");
    const auto constant = constants_.find(value);
    if (constant != constants_.end())
      fill_with_halves(constant->second, name, *graph_.add_initializer());
    else
      append_node(graph_, "Cast", {value}, name, "to", kHalf);
    return halves_[value] = name;
  }

  std::string as_float(const std::string& value) {
    const auto half = halves_.find(value);
    if (half == halves_.end() || half->second != value) return value;  // there is a 32-bit form of this name
    const auto found = floats_.find(value);
    if (found != floats_.end()) return found->second;
    const std::string name = unused(value + "/float");
    append_node(graph_, "Cast", {value}, name, "to", kFloat);
    return floats_[value] = name;
  }

  std::string unused(const std::string& base) {
    std::string name = base;
    for (int n = 2; types_.contains(name) || !taken_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
    return name;
  }

  onnx::GraphProto& graph_;
  const std::set<std::string>& float_nodes_;
  std::map<std::string, int> types_;  ///< of values, in the model with 32-bit floats
  std::map<std::string, onnx::TensorProto> constants_;
  std::map<std::string, std::string> halves_, floats_;  ///< names of the forms of a value
  std::set<std::string> outputs_, taken_;
  std::set<std::string> computed_;  ///< values that nodes compute as 16-bit floats
};

/// Whether input `i` of the node is a weight.
bool is_weight(const onnx::NodeProto& node, int i) {
  const std::string& op = node.op_type();
  if (op == "Gather") return i == 0;
  if (op == "LSTM" || op == "RNN") return i == 1 || i == 2;
  return i == 1 && (op == "Conv" || op == "ConvTranspose" || op == "Gemm" || op == "MatMul");
}

}  // namespace

void store_weights_in_half(onnx::GraphProto& graph) {
  std::set<std::string> weights;
  for (const onnx::NodeProto& node : graph.node())
    for (int i = 0; i < node.input_size(); ++i)
      if (is_weight(node, i)) weights.insert(node.input(i));
  onnx::GraphProto casts;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_type() != kFloat || !weights.contains(tensor.name()) || !fits_in_half(tensor)) continue;
    const onnx::TensorProto whole = tensor;
    fill_with_halves(whole, whole.name() + "/half", tensor);
    append_node(casts, "Cast", {tensor.name()}, whole.name(), "to", kFloat);
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) *casts.add_node() = std::move(node);
  graph.mutable_node()->Swap(casts.mutable_node());
}

void compute_in_half(onnx::GraphProto& graph, const std::set<std::string>& float_nodes) {
  HalfConverter(graph, float_nodes).run();
}

bool needs_floats(const std::string& type) {
  static const std::set<std::string> types = {"DetectionOutput",
                                              "YoloDetectionOutput",
                                              "Yolov3DetectionOutput",
                                              "Proposal",
                                              "DecodeBBox",
                                              "PSROIPooling",
                                              "ROIPooling",
                                              "ROIAlign",
                                              "PriorBox",
                                              "ArgMax",
                                              "CTCGreedyDecoder",
                                              "BatchReindex",
                                              "Filter",
                                              "Embed",
                                              "SpatialTransformer",
                                              "MVN",
                                              "Normalize",
                                              "LRN",
                                              "GroupNorm",
                                              "LayerNorm",
                                              "InstanceNorm",
                                              "Reduction",
                                              "Exp",
                                              "Log",
                                              "Power"};
  return types.contains(type);
}

}  // namespace cortado::exporting
