// A layer takes over the layer behind it where it offers to (Convolution+ReLU, BatchNorm+Scale+ReLU, sum+ReLU) and
// nobody else can see the value between them. The node keeps the names of all that it replaces.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

void fuse(Graph& graph) {
  if (may_merge(graph)) merge_followers(graph, &Layer::absorb);
}

}  // namespace cortado::graph
