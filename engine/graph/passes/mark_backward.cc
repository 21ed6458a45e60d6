// Marks what backward computes. A value has a gradient only where it depends on a weight that learns (or the net sets
// force_backward, or a layer that reads it propagate_down: true) and a loss depends on it (or the net is observed: then
// gradients may start anywhere). Of an observed net without its last layers, a loss among these is assumed to depend on
// everything.

#include <optional>

#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// What the layer's propagate_down says of x[i].
std::optional<bool> propagate_down(const Graph& graph, const Node& node, size_t i) {
  if (node.sources.empty()) return std::nullopt;
  const caffe::LayerParameter& config = *graph.source(node.sources[0]).config;
  if (int(i) >= config.propagate_down_size()) return std::nullopt;
  return config.propagate_down(int(i));
}

bool may_flow(const Graph& graph, const Node& node, size_t i) {
  return node.layer->differentiable(int(i)) && propagate_down(graph, node, i).value_or(true);
}

/// Per value: whether its gradient is requested by force_backward or by propagate_down: true of a layer that reads it.
std::vector<bool> forced_values(const Graph& graph) {
  std::vector<bool> forced(graph.values.size(), graph.file->net.force_backward());
  for (const Node& node : graph.nodes)
    for (size_t i = 0; i < node.x.size(); ++i)
      if (may_flow(graph, node, i) && propagate_down(graph, node, i)) forced[size_t(node.x[i])] = true;
  return forced;
}

/// Per value: whether it depends on a weight that learns, or on a value whose gradient is forced.
std::vector<bool> values_that_learn(const Graph& graph) {
  std::vector<bool> learn = forced_values(graph);
  for (const Node& node : graph.nodes) {
    bool any = false;
    for (const WeightId id : node.w) any = any || graph.weight(id).learns();
    for (size_t i = 0; i < node.x.size(); ++i) any = any || (learn[size_t(node.x[i])] && may_flow(graph, node, i));
    for (const ValueId id : node.y) learn[size_t(id)] = learn[size_t(id)] || any;
  }
  return learn;
}

/// Per value: whether a loss depends on it through differentiable layers.
std::vector<bool> values_under_loss(const Graph& graph) {
  const bool anywhere = graph.file->net.force_backward() || graph.cut_before_loss;
  std::vector<bool> under(graph.values.size(), graph.options.observed && anywhere);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool any = false;
    for (const ValueId id : node.y) {
      if (graph.value(id).loss_weight != 0) under[size_t(id)] = true;
      any = any || under[size_t(id)];
    }
    for (size_t i = 0; i < node.x.size(); ++i)
      if (any && may_flow(graph, node, i)) under[size_t(node.x[i])] = true;
  }
  return under;
}

}  // namespace

void mark_backward(Graph& graph) {
  const bool wanted = graph.options.backward;
  const std::vector<bool> learn = values_that_learn(graph), under = values_under_loss(graph);
  for (size_t v = 0; v < graph.values.size(); ++v) graph.values[v].wants_gradient = wanted && learn[v] && under[v];
  for (Node& node : graph.nodes) {
    bool reached = false;
    for (const ValueId id : node.y) reached = reached || graph.value(id).wants_gradient;
    node.wants_dx.assign(node.x.size(), false);
    node.wants_dw.assign(node.w.size(), false);
    node.runs_backward = false;
    if (!reached) continue;
    for (size_t i = 0; i < node.x.size(); ++i)
      node.wants_dx[i] = graph.value(node.x[i]).wants_gradient && may_flow(graph, node, i);
    for (size_t k = 0; k < node.w.size(); ++k) node.wants_dw[k] = graph.weight(node.w[k]).learns();
    node.runs_backward = wants_gradients(node);
  }
}

}  // namespace cortado::graph
