// In a frozen net a layer that is linear in its weights takes over what multiplies and shifts its channels behind it:
// Convolution+BatchNorm+Scale becomes one convolution. The node lists all their weights as the file has them; those that it
// computes with are derived once they are loaded (layers/linear_weights.h).

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

void fold_batch_norm(Graph& graph) {
  if (!graph.options.frozen || !may_merge(graph)) return;
  for (Node& node : graph.nodes) {
    if (!node.layer) continue;
    for (;;) {
      const NodeId next = only_follower(graph, node);
      if (next < 0 || graph.nodes[size_t(next)].x.size() != 1) break;
      if (!node.layer->fold(*graph.nodes[size_t(next)].layer)) break;
      merge(node, graph.nodes[size_t(next)]);
    }
  }
  remove_merged(graph);
}

}  // namespace cortado::graph
