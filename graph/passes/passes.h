#pragma once

// The passes, one file each, in the order they run. A pass rewrites the graph; it has no memory.

#include <string>
#include <vector>

#include "graph/graph.h"

namespace cortado::graph {

struct Pass {
  std::string name;
  std::string help;
  void (*run)(Graph& graph);
  bool optional = false;  ///< may be switched off by name
};

/// All passes in order.
const std::vector<Pass>& all_passes();

/// Runs them; stops after the one named `last` (all when empty). Throws Error(kUsage) for an unknown name.
void run_passes(Graph& graph, const std::string& last = {});

void drop_dead(Graph& graph);
void infer_shapes(Graph& graph);
void share_weights(Graph& graph);
void freeze(Graph& graph);
void mark_backward(Graph& graph);
void sum_gradients(Graph& graph);
void follow_rows(Graph& graph);
void fold_batch_norm(Graph& graph);
void fuse_sums(Graph& graph);
void fuse(Graph& graph);
void hand_masks(Graph& graph);
void choose_layouts(Graph& graph);

}  // namespace cortado::graph
