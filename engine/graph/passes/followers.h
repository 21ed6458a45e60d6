#pragma once

// Helpers of passes that merge a node with the node after it.

#include <functional>
#include <optional>

#include "graph/graph.h"

namespace cortado::graph {

/// The only reader of the node's only result, if that result is not kept and the reader has one result; else -1.
NodeId only_follower(const Graph& graph, const Node& node);

/// The post-ops of `node` after it takes over `next`; none if `next` cannot be a post-op.
std::optional<kernels::PostOps> post_with(const Node& node, const Node& next);

/// Merges `next` into `node`: its names, its weights (appended to the node's own), its result. `next` loses its layer,
/// which marks it for remove_merged().
void merge(Node& node, Node& next);

/// Removes merged nodes.
void remove_merged(Graph& graph);

/// Merges every node with its only follower of one operand, repeatedly, where `agrees` accepts the resulting post-ops.
void merge_followers(Graph& graph, const std::function<bool(const Layer& layer, const kernels::PostOps& post)>& agrees);

/// The mode on which layers decide what they accept.
inline NetMode mode_of(const Graph& graph) { return graph.options.frozen ? NetMode::kFrozen : NetMode::kTraining; }

/// Whether merging is enabled; it is not where the user needs every blob.
inline bool may_merge(const Graph& graph) { return graph.options.fuse && !graph.options.observed; }

}  // namespace cortado::graph
