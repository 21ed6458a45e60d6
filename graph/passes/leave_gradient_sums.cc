// Backward of a Split reads two gradients and writes their sum, which a normalisation before it reads at once. Where
// the device's kernels add up what they read, the sum is left to that: two passes over memory less, at each fork of a
// residual net. A Split of more values, or behind another layer, sums by itself.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// Whether a reader of the value, and nothing else, sends it a gradient.
bool gets_gradient(const Graph& graph, const Value& value) {
  return value.wants_gradient && value.loss_weight == 0 && value.readers.size() == 1 &&
         graph.node(value.readers[0].node).wants_dx[size_t(value.readers[0].input)];
}

bool sums_two(const Graph& graph, const Node& node) {
  return node.type == "Split" && node.runs_backward && node.y.size() == 2 &&
         gets_gradient(graph, graph.value(node.y[0])) && gets_gradient(graph, graph.value(node.y[1]));
}

}  // namespace

void leave_gradient_sums(Graph& graph) {
  if (!may_merge(graph) || graph.options.observed || !graph.options.batch_norm.gradients) return;
  for (Node& split : graph.nodes) {
    if (!sums_two(graph, split)) continue;
    const Value& forked = graph.value(split.x[0]);
    Node& maker = graph.node(forked.producer);
    if (!maker.runs_backward || maker.y.size() != 1 || forked.dynamic_rows || !maker.layer->takes_two_dy()) continue;
    maker.dy_parts = split.y;
    split.leaves_sum = true;
  }
}

}  // namespace cortado::graph
