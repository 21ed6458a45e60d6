// A normalisation whose result only a sum reads, as the one in the shortcut of a residual net, need not write it: it
// leaves a factor and a term for each channel to the sum, which reads what was to be normalised. One tensor less is
// written and read.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

bool is_read_once(const Value& value) {
  return value.readers.size() == 1 && !value.kept && value.loss_weight == 0 && !value.dynamic_rows;
}

void take_map(Graph& graph, Node& sum) {
  const Value& operand = graph.value(sum.x[1]);
  Node& maker = graph.node(operand.producer);
  if (!is_read_once(operand) || maker.y.size() != 1 || !maker.layer->leaves_map(maker.post)) return;
  Value map;
  map.name = operand.name + "_map";
  map.shape = {2, operand.shape[1]};
  map.shape_known = true;
  const ValueId id = ValueId(graph.values.size());
  graph.values.push_back(std::move(map));
  maker.y.push_back(id);
  maker.leaves_map = true;
  sum.x.push_back(id);
  sum.wants_dx.push_back(false);
  sum.takes_map = true;
}

}  // namespace

void leave_maps(Graph& graph) {
  if (!may_merge(graph) || graph.options.frozen || !graph.options.batch_norm.maps) return;
  for (Node& node : graph.nodes)
    if (node.layer->takes_map() && node.post.sum && node.x.size() == 2) take_map(graph, node);
  index_readers(graph);
}

}  // namespace cortado::graph
