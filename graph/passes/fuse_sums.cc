// In a frozen net a layer takes over the sum of its result and another value: the join of a residual net becomes part of
// the convolution before it, which then works in the other operand's memory. Of the sum's two operands it is the one that
// is made later whose maker takes over, since the other one has to be there by then.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// Which operand of the sum `n` is made later: 0 or 1; -1 where it is no sum of two.
int later_operand(const Graph& graph, const Node& sum) {
  if (!sum.layer->adds_two() || sum.x.size() != 2 || sum.x[0] == sum.x[1]) return -1;
  return graph.values[size_t(sum.x[0])].producer > graph.values[size_t(sum.x[1])].producer ? 0 : 1;
}

void take_over_sum(Graph& graph, Node& sum) {
  const int later = later_operand(graph, sum);
  if (later < 0) return;
  const NodeId maker = graph.values[size_t(sum.x[size_t(later)])].producer;
  Node& node = graph.nodes[size_t(maker)];
  const NodeId follower = only_follower(graph, node);
  if (follower < 0 || &graph.nodes[size_t(follower)] != &sum || !node.layer->absorb_sum(*sum.layer)) return;
  node.x.push_back(sum.x[size_t(1 - later)]);
  node.wants_dx.push_back(false);
  merge(node, sum);
  graph.values[size_t(node.y[0])].producer = maker;  // a sum behind this one asks
}

}  // namespace

void fuse_sums(Graph& graph) {
  if (!graph.options.frozen || !may_merge(graph)) return;
  for (Node& node : graph.nodes) take_over_sum(graph, node);
  remove_merged(graph);
}

}  // namespace cortado::graph
