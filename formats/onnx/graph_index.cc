#include "onnx/graph_index.h"

#include <algorithm>

namespace cortado {

GraphIndex::GraphIndex(onnx::GraphProto& graph) : graph_(graph) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) tensors_[tensor.name()] = &tensor;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
  index();
}

void GraphIndex::index() {
  makers_.clear();
  readers_.clear();
  for (onnx::NodeProto& node : *graph_.mutable_node()) {
    if (gone_.contains(&node)) continue;
    for (const std::string& output : node.output()) makers_[output] = &node;
    for (const std::string& input : node.input()) readers_[input].push_back(&node);
  }
}

onnx::NodeProto* GraphIndex::maker(const std::string& value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : found->second;
}

onnx::NodeProto* GraphIndex::only_reader(const std::string& value) const {
  const auto found = readers_.find(value);
  return found == readers_.end() || found->second.size() != 1 || outputs_.contains(value) ? nullptr : found->second[0];
}

onnx::TensorProto* GraphIndex::own_tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() || !only_reader(name) ? nullptr : found->second;
}

const onnx::TensorProto* GraphIndex::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

onnx::TensorProto& GraphIndex::add_tensor(const std::string& base, const std::vector<int64_t>& dims) {
  std::string name = base;
  while (tensors_.contains(name) || makers_.contains(name)) name += "_";
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  tensors_[name] = &tensor;
  return tensor;
}

void GraphIndex::absorb(onnx::NodeProto& before, onnx::NodeProto& node) {
  before.set_output(0, node.output(0));
  gone_.insert(&node);
  index();
}

void GraphIndex::bypass(onnx::NodeProto& node, onnx::NodeProto& before) {
  if (only_reader(before.output(0)) == &node) gone_.insert(&before);
  node.set_input(0, before.input(0));
  index();
}

bool GraphIndex::is_read(const onnx::NodeProto& node) const {
  return std::any_of(node.output().begin(), node.output().end(),
                     [&](const std::string& output) { return outputs_.contains(output) || readers_.contains(output); });
}

void GraphIndex::sweep() {
  auto& nodes = *graph_.mutable_node();
  for (int i = nodes.size(); i-- > 0;)  // later nodes first: their inputs may be read by nothing else
    if (!gone_.contains(&nodes[i]) && !is_read(nodes[i])) {
      gone_.insert(&nodes[i]);
      index();
    }
  onnx::GraphProto kept;
  for (onnx::NodeProto& node : nodes)
    if (!gone_.contains(&node)) kept.add_node()->Swap(&node);
  nodes.Swap(kept.mutable_node());
  gone_.clear();
  index();
  auto& tensors = *graph_.mutable_initializer();
  const auto unread = [&](const onnx::TensorProto& tensor) {
    return !readers_.contains(tensor.name()) && !outputs_.contains(tensor.name());
  };
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), unread), tensors.end());
}

}  // namespace cortado
