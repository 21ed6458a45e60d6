// A layer takes over the layer behind it where it offers to (Convolution+ReLU, BatchNorm+Scale+ReLU, sum+ReLU) and nobody
// else can see the value between them. The node keeps the names of all that it replaces.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

void fuse(Graph& graph) {
  if (!may_merge(graph)) return;
  for (Node& node : graph.nodes) {
    if (!node.layer) continue;
    for (;;) {
      const NodeId next = only_follower(graph, node);
      if (next < 0 || graph.nodes[size_t(next)].x.size() != 1) break;
      if (!node.layer->absorb(*graph.nodes[size_t(next)].layer)) break;
      merge(node, graph.nodes[size_t(next)]);
    }
  }
  remove_merged(graph);
}

}  // namespace cortado::graph
