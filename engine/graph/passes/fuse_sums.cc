// A layer takes over the sum of its result and another value: the Eltwise of a residual net becomes part of the
// BatchNorm before it, or in frozen nets of the convolution that the BatchNorm was folded into. The producer of the
// later operand takes the sum over, because the other operand must exist by then.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// The producer of a sum's operand. Merges it into the node before it where that can do both (BatchNorm and Scale).
NodeId maker_of(Graph& graph, ValueId operand) {
  const NodeId last = graph.value(operand).producer;
  Node& follower = graph.node(last);
  if (follower.x.size() != 1) return last;
  const NodeId before = graph.value(follower.x[0]).producer;
  Node& node = graph.node(before);
  if (only_follower(graph, node) != last || !node.layer->accepts({.sum = true}, NetMode::kTraining)) return last;
  auto post = post_with(node, follower);
  if (!post || !node.layer->accepts(*post, NetMode::kTraining)) return last;
  node.post = std::move(*post);
  merge(node, follower);
  graph.value(operand).producer = before;
  return before;
}

bool adds_two(const Node& node) { return node.layer->as_post_op() == kernels::PostOp(kernels::SumOfTwo()); }

/// Which operand of the sum is written later: 0 or 1; -1 if it is not a sum of two.
int later_operand(Graph& graph, const Node& sum) {
  if (!adds_two(sum) || sum.x.size() != 2 || sum.x[0] == sum.x[1]) return -1;
  return maker_of(graph, sum.x[0]) > maker_of(graph, sum.x[1]) ? 0 : 1;
}

void take_over_sum(Graph& graph, Node& sum) {
  if (!sum.layer) return;
  const int later = later_operand(graph, sum);
  if (later < 0) return;
  const NodeId maker = graph.value(sum.x[size_t(later)]).producer;
  Node& node = graph.node(maker);
  const NodeId follower = only_follower(graph, node);
  if (follower < 0 || &graph.node(follower) != &sum) return;
  auto post = post_with(node, sum);
  if (!post || !node.layer->accepts(*post, mode_of(graph))) return;
  node.post = std::move(*post);
  node.x.push_back(sum.x[size_t(1 - later)]);
  node.wants_dx.push_back(sum.wants_dx[size_t(1 - later)]);
  merge(node, sum);
  graph.value(node.y[0]).producer = maker;  // read by a later sum
}

}  // namespace

void fuse_sums(Graph& graph) {
  if (!may_merge(graph)) return;
  for (Node& node : graph.nodes) take_over_sum(graph, node);
  remove_merged(graph);
}

}  // namespace cortado::graph
