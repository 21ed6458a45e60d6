// ShuffleNet's units end with a Concat of n equal parts and a ShuffleChannel of n groups, so that each part's channels
// go to every n-th channel. An Interleave does both in one pass over memory, unless the parts fill blocks of 16
// channels, which Concat copies whole.

#include <algorithm>

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"
#include "layers/common/loops/lanes.h"
#include "layers/type_names.h"

namespace cortado::graph {

namespace {

const caffe::LayerParameter& config_of(const Graph& graph, const Node& node) {
  return *graph.source(node.sources[0]).config;
}

bool joins_channels(const Graph& graph, const Node& node) {
  const caffe::ConcatParameter& options = config_of(graph, node).concat_param();
  const int64_t axis = options.has_concat_dim() ? int64_t(options.concat_dim()) : options.axis();
  return axis == 1 || axis + graph.value(node.y[0]).shape.axes() == 1;
}

/// The shapes of a Concat's operands if they are equal parts of the channels; else none.
std::vector<Shape> equal_parts(const Graph& graph, const Node& node) {
  std::vector<Shape> parts;
  for (const ValueId id : node.x) parts.push_back(graph.value(id).shape);
  const bool equal = std::ranges::all_of(parts, [&](const Shape& part) { return part == parts[0]; });
  if (!equal || parts.size() < 2 || !joins_channels(graph, node) || whole_blocks(parts, 1)) return {};
  return parts;
}

void rewrite(Graph& graph, Node& node) {
  if (!node.layer || node.type != type_names::kConcat) return;
  const NodeId follower = only_follower(graph, node);
  if (follower < 0 || graph.node(follower).type != type_names::kShuffleChannel || graph.value(node.y[0]).dynamic_rows)
    return;
  Node& shuffle = graph.node(follower);
  const std::vector<Shape> parts = equal_parts(graph, node);
  if (parts.empty() || config_of(graph, shuffle).shuffle_channel_param().group() != parts.size()) return;
  node.layer = make_internal_layer(graph, type_names::kInterleave);
  node.layer->infer(parts);
  merge(node, shuffle);
}

}  // namespace

void fuse_concat_shuffle(Graph& graph) {
  if (!may_merge(graph)) return;
  for (Node& node : graph.nodes) rewrite(graph, node);
  remove_merged(graph);
}

}  // namespace cortado::graph
