// Backward through a ReLU needs to know where its result was positive. Where only a max pooling reads that result, the
// pooled values say so for every place that a gradient comes to: the pooling masks, and the larger tensor before it is
// needed no longer than until it is pooled.

#include "graph/passes/passes.h"

namespace cortado::graph {

void move_relu_masks(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (!node.runs_backward || node.y.size() != 1) continue;
    const Value& value = graph.value(node.y[0]);
    if (value.kept || value.loss_weight != 0 || value.readers.size() != 1 || value.readers[0].input != 0) continue;
    Node& reader = graph.node(value.readers[0].node);
    if (!reader.runs_backward || !reader.wants_dx[0]) continue;
    node.dy_is_masked = reader.masks_dx = node.layer->masks_dy(node.post) && reader.layer->can_mask_dx();
  }
}

}  // namespace cortado::graph
