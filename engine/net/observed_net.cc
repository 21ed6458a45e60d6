#include "net/observed_net.h"

#include <algorithm>

#include "net/tensor_values.h"

namespace cortado {

namespace {

/// Whether a pass added the node, such as a copy in another layout: it runs with the layers around it.
bool is_internal(const graph::Node& node) { return node.sources.empty(); }

}  // namespace

ObservedNet::ObservedNet(Net& net) : net_(net) {
  const graph::Graph& graph = net.plan().graph;
  if (!graph.options.observed) throw_internal("the net was not planned to be observed");
  for (const graph::Node& node : graph.nodes)
    for (const graph::ValueId id : node.y)
      if (const std::string& name = graph.value(id).name; graph.names.contains(name)) {
        if (!versions_.contains(name)) blobs_.push_back(name);
        versions_[name].values.push_back(id);
      }
  ran();
}

void ObservedNet::ran() {
  for (auto& [name, versions] : versions_) {
    versions.value = net_.plan().graph.names.at(name);
    const auto first = std::find_if(versions.values.begin(), versions.values.end(),
                                    [&](graph::ValueId id) { return has_gradient(id); });
    versions.gradient = first == versions.values.end() ? -1 : *first;
  }
}

const ObservedNet::Versions& ObservedNet::versions(const std::string& blob) const {
  const auto found = versions_.find(blob);
  if (found != versions_.end()) return found->second;
  throw Error(ExitCode::kUsage, "the net has no blob '" + blob + "'", did_you_mean(blob, blobs_));
}

bool ObservedNet::has_gradient(graph::ValueId value) const { return bool(net_.gradient_tensor(value)); }

void ObservedNet::read(const std::string& blob, BlobPart part, float* plain) const {
  const Versions& of = versions(blob);
  if (part == BlobPart::kValues) return read_values(net_.context(), net_.value_tensor(of.value), plain);
  if (of.gradient < 0) return void(std::fill_n(plain, net_.plan().graph.value(of.value).shape.count(), 0.0f));
  read_values(net_.context(), net_.gradient_tensor(of.gradient), plain);
  gate(of.gradient, plain);
}

/// For a node that merged an in-place ReLU: Caffe's gradient of the blob is that after the ReLU's backward.
void ObservedNet::gate(graph::ValueId value, float* gradient) const {
  const graph::Graph& graph = net_.plan().graph;
  const kernels::Activation activation = graph.node(graph.value(value).producer).post.activation;
  if (!activation || !activation.gates()) return;
  std::vector<float> y(size_t(graph.value(value).shape.count()));
  read_values(net_.context(), net_.value_tensor(value), y.data());
  for (size_t i = 0; i < y.size(); ++i)
    if (!activation.passes(y[i])) gradient[i] = 0;
}

void ObservedNet::write(const std::string& blob, BlobPart part, const float* plain) {
  for (const graph::ValueId id : versions(blob).values) {
    const Tensor to = part == BlobPart::kValues ? net_.value_tensor(id) : net_.gradient_tensor(id);
    if (to) write_values(net_.context(), plain, to);
  }
}

ObservedNet::NodeRange ObservedNet::nodes_of(size_t first, size_t last) const {
  const std::vector<graph::Node>& nodes = net_.plan().graph.nodes;
  const auto stands_for_one = [&](const graph::Node& node) {
    return std::any_of(node.sources.begin(), node.sources.end(),
                       [&](int source) { return first <= size_t(source) && size_t(source) <= last; });
  };
  NodeRange range{graph::NodeId(nodes.size()), -1};
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!stands_for_one(nodes[n])) continue;
    range.first = std::min(range.first, graph::NodeId(n));
    range.last = graph::NodeId(n);
  }
  while (range.first > 0 && is_internal(nodes[size_t(range.first) - 1])) --range.first;
  return range;
}

void ObservedNet::made(graph::ValueId value, graph::ValueId Versions::*latest) {
  const auto found = versions_.find(net_.plan().graph.value(value).name);
  if (found != versions_.end()) found->second.*latest = value;
}

void ObservedNet::forward(size_t first, size_t last) {
  const NodeRange range = nodes_of(first, last);
  const std::vector<graph::Step>& steps = net_.plan().forward;
  net_.begin_pass();
  for (size_t i = 0; i < steps.size(); ++i)
    if (range.contains(steps[i].node)) net_.run_forward_step(i);
  for (graph::NodeId n = range.first; n <= range.last; ++n)
    for (const graph::ValueId id : net_.plan().graph.node(n).y) made(id, &Versions::value);
}

void ObservedNet::backward(size_t first, size_t last) {
  const NodeRange range = nodes_of(first, last);
  const std::vector<graph::Step>& steps = net_.plan().backward;
  net_.add_gradients(net_.plan().graph.options.accumulates);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!range.contains(steps[i].node)) continue;
    net_.run_backward_step(i);
    const graph::Node& node = net_.plan().graph.node(steps[i].node);
    for (size_t k = 0; k < node.x.size(); ++k)
      if (node.wants_dx[k]) made(node.x[k], &Versions::gradient);
  }
}

void ObservedNet::clear_weight_gradients() {
  const std::span<float> gradients = net_.gradient_memory();
  clear_on_device(net_.context(), gradients.data(), gradients.size_bytes());
}

}  // namespace cortado
