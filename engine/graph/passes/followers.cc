#include "graph/passes/followers.h"

#include "graph/passes/passes.h"

namespace cortado::graph {

NodeId only_follower(const Graph& graph, const Node& node) {
  if (node.y.size() != 1) return -1;
  const Value& value = graph.value(node.y[0]);
  if (value.kept || !value.shape_known || value.readers.size() != 1) return -1;
  const NodeId next = value.readers[0].node;
  return graph.node(next).y.size() == 1 ? next : -1;
}

std::optional<kernels::PostOps> post_with(const Node& node, const Node& next) {
  if (!next.post.empty()) return std::nullopt;
  const std::optional<kernels::PostOp> op = next.layer->as_post_op();
  return op ? node.post.followed_by(*op) : std::nullopt;
}

void merge(Node& node, Node& next) {
  node.name += "+" + next.name;
  node.type += "+" + next.type;
  node.sources.insert(node.sources.end(), next.sources.begin(), next.sources.end());
  node.w.insert(node.w.end(), next.w.begin(), next.w.end());
  node.wants_dw.insert(node.wants_dw.end(), next.wants_dw.begin(), next.wants_dw.end());
  // `next` may have run backward only for the value between them.
  node.runs_backward = wants_gradients(node);
  node.y = next.y;
  next.layer.reset();
}

void remove_merged(Graph& graph) {
  std::erase_if(graph.nodes, [](const Node& node) { return node.layer == nullptr; });
  index_readers(graph);
}

void merge_followers(Graph& graph,
                     const std::function<bool(const Layer& layer, const kernels::PostOps& post)>& agrees) {
  for (Node& node : graph.nodes) {
    if (!node.layer) continue;
    for (;;) {
      const NodeId next = only_follower(graph, node);
      if (next < 0 || graph.node(next).x.size() != 1) break;
      auto post = post_with(node, graph.node(next));
      if (!post || !agrees(*node.layer, *post)) break;
      node.post = std::move(*post);
      merge(node, graph.node(next));
    }
  }
  remove_merged(graph);
}

}  // namespace cortado::graph
