// In a frozen net a layer that is linear in its weights takes over what multiplies and shifts its channels behind it:
// Convolution+BatchNorm+Scale becomes one convolution. The node lists all their weights as the file has them; those
// that it computes with are derived once they are loaded (layers/common/linear_weights.h).

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

void fold_batch_norm(Graph& graph) {
  if (graph.options.frozen && may_merge(graph)) merge_followers(graph, &Layer::fold);
}

}  // namespace cortado::graph
