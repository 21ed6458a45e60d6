#pragma once

// What the passes share that let a node take over the one behind it.

#include <functional>
#include <optional>

#include "graph/graph.h"

namespace cortado::graph {

/// The only reader of the node's only result, if nothing else can see that result and the reader makes one result
/// itself; else -1.
NodeId only_follower(const Graph& graph, const Node& node);

/// All that `node` would have taken over with `next`, where that is something a node may take over; else nothing.
std::optional<kernels::PostOps> post_with(const Node& node, const Node& next);

/// Lets `node` stand for `next`, too: its names, its weights behind the node's own, its result. `next` loses its layer,
/// which marks it for remove_merged().
void merge(Node& node, Node& next);

/// Takes merged nodes out.
void remove_merged(Graph& graph);

/// Lets every node take over its only follower of one operand, again and again, where `agrees` to all that it would
/// have taken over then.
void merge_followers(Graph& graph, const std::function<bool(const Layer& layer, const kernels::PostOps& post)>& agrees);

/// What layers may go by when they say what they accept.
inline NetMode mode_of(const Graph& graph) { return graph.options.frozen ? NetMode::kFrozen : NetMode::kTraining; }

/// Whether neighbours may be merged at all: not where the user wants to see every blob.
inline bool may_merge(const Graph& graph) { return graph.options.fuse; }

}  // namespace cortado::graph
