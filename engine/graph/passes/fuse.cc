// A layer takes over the layer after it where it accepts that (Convolution+ReLU, BatchNorm+Scale+ReLU, sum+ReLU) and
// nothing else reads the value between them. The node keeps the names of all merged layers. Per-channel scales and
// shifts are merged as in every net; fold_batch_norm handles the weights of frozen nets.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

void fuse(Graph& graph) {
  if (!may_merge(graph)) return;
  merge_followers(graph, [mode = mode_of(graph)](const Layer& layer, const kernels::PostOps& post) {
    return layer.accepts(post, post.sum || post.activation ? mode : NetMode::kTraining);
  });
}

}  // namespace cortado::graph
