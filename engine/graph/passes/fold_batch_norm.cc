// In a frozen net a layer that is linear in its weights takes over a per-channel scale and shift after it:
// Convolution+BatchNorm+Scale becomes one convolution. The node lists all their weights as in the file; those that it
// computes with are derived after loading (layers/common/weights/linear_weights.h).

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

bool is_affine(const kernels::PostOps& post) { return post == kernels::PostOps{.affine = post.affine}; }

}  // namespace

void fold_batch_norm(Graph& graph) {
  if (!graph.options.frozen || !may_merge(graph)) return;
  merge_followers(graph, [](const Layer& layer, const kernels::PostOps& post) {
    return is_affine(post) && layer.accepts(post, NetMode::kFrozen) && !layer.accepts(post, NetMode::kTraining);
  });
}

}  // namespace cortado::graph
