// A layer takes over the layer behind it where it offers to (Convolution+ReLU, BatchNorm+Scale+ReLU, sum+ReLU) and nobody
// else can see the value between them. The node keeps the names of all that it replaces.

#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// The only reader of the node's only result, if it reads nothing else and may be merged; else -1.
NodeId mergeable_follower(const Graph& graph, const Node& node) {
  if (node.y.size() != 1) return -1;
  const Value& value = graph.values[size_t(node.y[0])];
  if (value.kept || !value.shape_known || value.readers.size() != 1) return -1;
  const NodeId next = value.readers[0].node;
  const Node& follower = graph.nodes[size_t(next)];
  if (follower.x.size() != 1 || follower.y.size() != 1) return -1;
  return next;
}

void merge(Node& node, Node& next) {
  node.name += "+" + next.name;
  node.type += "+" + next.type;
  node.sources.insert(node.sources.end(), next.sources.begin(), next.sources.end());
  node.w.insert(node.w.end(), next.w.begin(), next.w.end());
  node.wants_dw.insert(node.wants_dw.end(), next.wants_dw.begin(), next.wants_dw.end());
  node.runs_backward = node.runs_backward || next.runs_backward;
  node.y = next.y;
  next.layer.reset();  // marks it as gone
}

}  // namespace

void fuse(Graph& graph) {
  if (!graph.options.fuse || graph.options.keep_all) return;
  for (Node& node : graph.nodes) {
    if (!node.layer) continue;
    for (;;) {
      const NodeId next = mergeable_follower(graph, node);
      if (next < 0 || !node.layer->absorb(*graph.nodes[size_t(next)].layer)) break;
      merge(node, graph.nodes[size_t(next)]);
    }
  }
  std::erase_if(graph.nodes, [](const Node& node) { return node.layer == nullptr; });
  index_readers(graph);
}

}  // namespace cortado::graph
