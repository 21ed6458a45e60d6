#include "onnx/whole_layers.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files/crc.h"
#include "proto/text/text_reader.h"
#include "proto/text/write_text.h"

namespace cortado {

namespace {

constexpr std::string_view kKey = "cortado.layer.";
constexpr std::string_view kHead = "# checksum of the nodes: ";

/// The nodes that compute a layer's tops from its bottoms, and what else belongs to them.
struct Part {
  std::set<int> nodes;
  uint32_t checksum = 0;
};

class PartFinder {
 public:
  explicit PartFinder(const onnx::GraphProto& graph) : graph_(graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const std::string& output : graph.node(i).output()) makers_[output] = i;
      for (const std::string& input : graph.node(i).input()) readers_[input].push_back(i);
    }
    for (const onnx::TensorProto& tensor : graph.initializer()) tensors_[tensor.name()] = &tensor;
    for (const onnx::ValueInfoProto& output : graph.output()) readers_[output.name()].push_back(-1);
  }

  /// Nothing if the nodes also depend on other values, or if others read their results.
  std::optional<Part> find(const caffe::LayerParameter& layer) const {
    const std::set<std::string> bottoms(layer.bottom().begin(), layer.bottom().end());
    const std::set<std::string> tops(layer.top().begin(), layer.top().end());
    Part part;
    std::set<std::string> constants;
    std::vector<std::string> open(tops.begin(), tops.end());
    while (!open.empty()) {
      const std::string value = open.back();
      open.pop_back();
      if (value.empty() || bottoms.contains(value)) continue;
      const auto maker = makers_.find(value);
      if (maker == makers_.end() && !tensors_.contains(value)) return std::nullopt;
      if (maker == makers_.end())
        constants.insert(value);
      else if (part.nodes.insert(maker->second).second)
        for (const std::string& input : graph_.node(maker->second).input()) open.push_back(input);
    }
    if (part.nodes.empty() || is_read_outside(part, tops)) return std::nullopt;
    for (const int i : part.nodes) part.checksum = crc32c_of(graph_.node(i).SerializeAsString(), part.checksum);
    for (const std::string& name : constants)
      part.checksum = crc32c_of(tensors_.at(name)->SerializeAsString(), part.checksum);
    return part;
  }

 private:
  bool is_read_outside(const Part& part, const std::set<std::string>& tops) const {
    for (const int i : part.nodes)
      for (const std::string& output : graph_.node(i).output()) {
        const auto readers = readers_.find(output);
        if (tops.contains(output) || readers == readers_.end()) continue;
        for (const int reader : readers->second)
          if (!part.nodes.contains(reader)) return true;
      }
    return false;
  }

  const onnx::GraphProto& graph_;
  std::map<std::string, int> makers_;
  std::map<std::string, std::vector<int>> readers_;  ///< -1: an output of the graph
  std::map<std::string, const onnx::TensorProto*> tensors_;
};

std::string head_of(uint32_t checksum) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", checksum);
  return std::string(kHead) + digits + "\n";
}

/// The layer of a metadata entry, or nothing if the text is not one.
std::optional<caffe::LayerParameter> layer_of(const std::string& text) {
  caffe::LayerParameter layer;
  try {
    TextReader(text, "metadata").read(layer);
  } catch (const Error&) {
    return std::nullopt;
  }
  if (layer.bottom_size() == 0 || layer.top_size() == 0) return std::nullopt;
  return layer;
}

onnx::NodeProto node_of(const caffe::LayerParameter& layer) {
  onnx::NodeProto node;
  node.set_op_type("Layer");
  node.set_domain(kLayerDomain);
  node.set_name(layer.name());
  for (const std::string& bottom : layer.bottom()) node.add_input(bottom);
  for (const std::string& top : layer.top()) node.add_output(top);
  caffe::LayerParameter options = layer;
  options.clear_name();
  options.clear_bottom();
  options.clear_top();
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("layer");
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(options.SerializeAsString());
  return node;
}

}  // namespace

void note_layers(onnx::ModelProto& model, const std::vector<caffe::LayerParameter>& layers) {
  if (layers.empty()) return;
  const PartFinder finder(model.graph());
  int count = 0;
  for (const caffe::LayerParameter& layer : layers) {
    const auto part = finder.find(layer);
    if (!part) continue;
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(std::string(kKey) + std::to_string(++count));
    entry.set_value(head_of(part->checksum) + to_text(layer));
  }
}

void restore_layers(onnx::ModelProto& model) {
  const auto is_layer = [](const onnx::StringStringEntryProto& entry) { return entry.key().starts_with(kKey); };
  if (std::ranges::none_of(model.metadata_props(), is_layer)) return;
  const PartFinder finder(model.graph());
  std::map<int, onnx::NodeProto> restored;  // by the last node of each layer
  std::set<int> gone;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (!is_layer(entry)) continue;
    const auto layer = layer_of(entry.value());
    const auto part = layer ? finder.find(*layer) : std::nullopt;
    if (!part || !entry.value().starts_with(head_of(part->checksum))) continue;
    if (std::ranges::any_of(part->nodes, [&](int i) { return gone.contains(i); })) continue;
    restored[*part->nodes.rbegin()] = node_of(*layer);
    gone.insert(part->nodes.begin(), part->nodes.end());
  }
  if (restored.empty()) return;
  onnx::GraphProto kept;
  for (int i = 0; i < model.graph().node_size(); ++i) {
    if (!gone.contains(i)) *kept.add_node() = std::move(*model.mutable_graph()->mutable_node(i));
    if (restored.contains(i)) *kept.add_node() = restored.at(i);
  }
  model.mutable_graph()->mutable_node()->Swap(kept.mutable_node());
}

}  // namespace cortado
