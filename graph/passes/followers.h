#pragma once

// What the passes share that let a node take over the one behind it.

#include "graph/graph.h"

namespace cortado::graph {

/// The only reader of the node's only result, if nobody else can see that result and the reader makes one result
/// itself; else -1.
NodeId only_follower(const Graph& graph, const Node& node);

/// Lets `node` stand for `next`, too: its names, its weights behind the node's own, its result. `next` loses its layer,
/// which marks it for remove_merged().
void merge(Node& node, Node& next);

/// Takes merged nodes out.
void remove_merged(Graph& graph);

/// Offers every layer its only follower of one operand, again and again, and merges where `takes_over` (absorb or fold)
/// agrees.
void merge_followers(Graph& graph, bool (Layer::*takes_over)(const Layer& next));

/// Whether neighbours may be merged at all: not where the user wants to see every blob.
inline bool may_merge(const Graph& graph) { return graph.options.fuse; }

}  // namespace cortado::graph
