#include "net/observed_net.h"

#include <algorithm>

#include "net/tensor_values.h"

namespace cortado {

namespace {

/// Whether a pass added the node, such as a copy in another layout: it runs with the layers around it.
bool is_internal(const graph::Node& node) { return node.sources.empty(); }

}  // namespace

ObservedNet::ObservedNet(Net& net) : net_(net), forward_step_(net.plan().graph.nodes.size(), -1) {
  const graph::Graph& graph = net.plan().graph;
  if (!graph.options.observed) throw_internal("the net was not planned to be observed");
  for (const graph::Node& node : graph.nodes)
    for (const graph::ValueId id : node.y)
      if (const std::string& name = graph.value(id).name; graph.names.contains(name)) {
        if (!versions_.contains(name)) blobs_.push_back(name);
        versions_[name].values.push_back(id);
      }
  for (size_t i = 0; i < net.plan().forward.size(); ++i) forward_step_[size_t(net.plan().forward[i].node)] = int(i);
  ran();
}

void ObservedNet::ran() {
  for (auto& [name, versions] : versions_) {
    versions.value = net_.plan().graph.names.at(name);
    const auto first = std::find_if(versions.values.begin(), versions.values.end(), [&](graph::ValueId id) {
      return has_gradient(id) && !is_stopped(net_.plan().graph.value(id));
    });
    versions.gradient = first == versions.values.end() ? -1 : *first;
  }
}

const ObservedNet::Versions& ObservedNet::versions(const std::string& blob) const {
  const auto found = versions_.find(blob);
  if (found != versions_.end()) return found->second;
  throw Error(ExitCode::kUsage, "the net has no blob '" + blob + "'", meant_or_known(blob, blobs_));
}

/// Null for values that the file does not name.
ObservedNet::Versions* ObservedNet::versions_of(graph::ValueId value) {
  const auto found = versions_.find(net_.plan().graph.value(value).name);
  return found == versions_.end() ? nullptr : &found->second;
}

bool ObservedNet::has_gradient(graph::ValueId value) const { return bool(net_.gradient_tensor(value)); }

/// Whether a layer in place sends the blob's gradient no further, so that the one before it does not start from it.
bool ObservedNet::is_stopped(const graph::Value& value) const {
  const graph::Graph& graph = net_.plan().graph;
  const auto sends = [&](const graph::Reader& reader) {
    return graph.node(reader.node).wants_dx[size_t(reader.input)];
  };
  const auto last = graph.names.find(value.name);
  return last != graph.names.end() && &graph.value(last->second) != &value &&
         std::ranges::none_of(value.readers, sends);
}

/// What a layer of the file wrote, if `value` is a copy of that.
graph::ValueId ObservedNet::original(graph::ValueId value) const {
  const graph::Graph& graph = net_.plan().graph;
  while (is_internal(graph.node(graph.value(value).producer))) value = graph.node(graph.value(value).producer).x[0];
  return value;
}

/// The rows of the latest pass, which are the first ones.
Tensor ObservedNet::live_tensor(graph::ValueId value, BlobPart part, const Shape& shape) const {
  Tensor tensor = part == BlobPart::kValues ? net_.value_tensor(value) : net_.gradient_tensor(value);
  tensor.spec.shape = shape;
  return tensor;
}

const Shape& ObservedNet::shape(const std::string& blob) const { return net_.value_shape(versions(blob).value); }

void ObservedNet::read(const std::string& blob, BlobPart part, float* plain) const {
  const Versions& of = versions(blob);
  const graph::ValueId id = part == BlobPart::kValues ? of.value : of.gradient;
  if (id < 0) return void(std::fill_n(plain, shape(blob).count(), 0.0f));
  read_values(net_.context(), live_tensor(id, part, shape(blob)), plain);
}

void ObservedNet::write(const std::string& blob, BlobPart part, const float* plain) {
  const Shape rows = shape(blob);
  for (const graph::ValueId id : versions(blob).values) {
    if (part == BlobPart::kValues) net_.set_value_shape(id, rows);
    const Tensor to = live_tensor(id, part, rows);
    if (to) write_values(net_.context(), plain, to);
  }
}

/// The nodes of layers [first, last], and before them those that complete the gradients which backward leaves.
ObservedNet::NodeRange ObservedNet::nodes_of(size_t first, size_t last) const {
  const std::vector<graph::Node>& nodes = net_.plan().graph.nodes;
  NodeRange range{graph::NodeId(nodes.size()), -1};
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (is_internal(nodes[n]) || size_t(nodes[n].sources[0]) < first || size_t(nodes[n].sources[0]) > last) continue;
    range.first = std::min(range.first, graph::NodeId(n));
    range.last = graph::NodeId(n);
  }
  while (range.first > 0 && is_internal(nodes[size_t(range.first) - 1])) --range.first;
  return range;
}

/// Copies the latest value of the blob to `value` and its copies, which a layer is about to read.
void ObservedNet::take_value(graph::ValueId value) {
  const graph::ValueId to = original(value);
  Versions* of = versions_of(to);
  if (!of || of->value == to) return;
  const Shape rows = net_.value_shape(of->value);
  std::vector<float> plain(size_t(rows.count()));
  read_values(net_.context(), live_tensor(of->value, BlobPart::kValues, rows), plain.data());
  for (const graph::ValueId id : of->values) {
    if (original(id) != to) continue;
    net_.set_value_shape(id, rows);
    write_values(net_.context(), plain.data(), live_tensor(id, BlobPart::kValues, rows));
  }
  of->value = to;
}

/// The same for a gradient that a layer is about to read.
void ObservedNet::take_gradient(graph::ValueId value) {
  Versions* of = versions_of(value);
  if (!of || of->gradient < 0 || of->gradient == value || !has_gradient(value)) return;
  const Shape& rows = net_.value_shape(value);
  std::vector<float> plain(size_t(rows.count()));
  read_values(net_.context(), live_tensor(of->gradient, BlobPart::kGradients, rows), plain.data());
  write_values(net_.context(), plain.data(), live_tensor(value, BlobPart::kGradients, rows));
  of->gradient = value;
}

/// One by one, because backward may need each.
void ObservedNet::take_versions(Versions& to, const ObservedNet& other, const Versions& from) {
  for (size_t k = 0; k < to.values.size(); ++k) {
    const Shape& rows = other.net_.value_shape(from.values[k]);
    net_.set_value_shape(to.values[k], rows);
    for (const BlobPart part : {BlobPart::kValues, BlobPart::kGradients}) {
      const Tensor mine = live_tensor(to.values[k], part, rows), theirs = other.live_tensor(from.values[k], part, rows);
      if (!mine || !theirs) continue;
      std::vector<float> plain(size_t(rows.count()));
      read_values(other.net_.context(), theirs, plain.data());
      write_values(net_.context(), plain.data(), mine);
    }
    if (from.values[k] == from.value) to.value = to.values[k];
    if (from.values[k] == from.gradient && has_gradient(to.values[k])) to.gradient = to.values[k];
  }
}

void ObservedNet::take_blobs(const ObservedNet& other) {
  for (auto& [name, to] : versions_) {
    const auto found = other.versions_.find(name);
    if (found == other.versions_.end() || net_.blob_shape(name) != other.net_.blob_shape(name)) continue;
    if (found->second.values.size() == to.values.size()) {
      take_versions(to, other, found->second);
      continue;
    }
    std::vector<float> plain(size_t(other.shape(name).count()));
    net_.set_value_shape(to.value, other.shape(name));
    for (const BlobPart part : {BlobPart::kValues, BlobPart::kGradients}) {
      other.read(name, part, plain.data());
      write(name, part, plain.data());
    }
  }
}

/// Before it, the copies that it reads. `added`: those that ran already.
void ObservedNet::run_forward(graph::NodeId n, std::set<graph::NodeId>& added) {
  const graph::Node& node = net_.plan().graph.node(n);
  for (const graph::ValueId id : node.x) {
    take_value(id);
    const graph::NodeId maker = net_.plan().graph.value(id).producer;
    if (is_internal(net_.plan().graph.node(maker)) && added.insert(maker).second) run_forward(maker, added);
  }
  if (forward_step_[size_t(n)] >= 0) net_.run_forward_step(size_t(forward_step_[size_t(n)]));
  if (is_internal(node)) return;
  for (const graph::ValueId id : node.y)
    if (Versions* of = versions_of(id)) of->value = id;
}

void ObservedNet::forward(size_t first, size_t last) {
  const NodeRange range = nodes_of(first, last);
  std::set<graph::NodeId> added;
  net_.begin_pass();
  for (graph::NodeId n = range.first; n <= range.last; ++n)
    if (!is_internal(net_.plan().graph.node(n))) run_forward(n, added);
}

void ObservedNet::backward(size_t first, size_t last) {
  const NodeRange range = nodes_of(first, last);
  const std::vector<graph::Step>& steps = net_.plan().backward;
  net_.add_gradients(net_.plan().graph.options.accumulates);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!range.contains(steps[i].node)) continue;
    const graph::Node& node = net_.plan().graph.node(steps[i].node);
    const bool recomputes = steps[i].call == graph::Call::kRecompute, starts = steps[i].node == range.last;
    for (const graph::ValueId id : node.y) {
      const graph::Value& y = net_.plan().graph.value(id);
      if (!recomputes && y.loss_weight == 0 && (starts || !is_stopped(y))) take_gradient(id);
    }
    net_.run_backward_step(i);
    if (recomputes) continue;
    for (size_t k = 0; k < node.x.size(); ++k)
      if (Versions* of = node.wants_dx[k] ? versions_of(node.x[k]) : nullptr) of->gradient = node.x[k];
  }
}

void ObservedNet::clear_weight_gradients() {
  const std::span<float> gradients = net_.gradient_memory();
  clear_on_device(net_.context(), gradients.data(), gradients.size_bytes());
}

}  // namespace cortado
