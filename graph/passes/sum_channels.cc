// A normalisation begins with the sums of each channel of its x. Where a convolution writes that x, and the device's
// kernels find the sums in passing, they become a second result of the convolution, and the normalisation reads x once.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// The sums of a value's channels and of their squares.
ValueId add_sums(Graph& graph, const Value& of) {
  Value sums;
  sums.name = of.name + "_sums";
  sums.shape = {2, of.shape[1]};
  sums.shape_known = true;
  graph.values.push_back(std::move(sums));
  return ValueId(graph.values.size()) - 1;
}

void take_sums(Graph& graph, Node& node) {
  const Value& x = graph.value(node.x[0]);
  Node& maker = graph.node(x.producer);
  if (x.dynamic_rows || maker.y.size() != 1 || !maker.layer->writes_channel_sums(maker.post)) return;
  const ValueId sums = add_sums(graph, x);
  maker.y.push_back(sums);
  maker.writes_sums = true;
  node.x.push_back(sums);
  node.wants_dx.push_back(false);
  node.reads_sums = true;
}

}  // namespace

void sum_channels(Graph& graph) {
  if (!may_merge(graph) || !graph.options.batch_norm.statistics) return;
  for (Node& node : graph.nodes)
    if (node.layer->reads_channel_sums()) take_sums(graph, node);
  index_readers(graph);
}

}  // namespace cortado::graph
