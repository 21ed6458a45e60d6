#pragma once

// The passes, one file each, in the order they run. A pass rewrites the graph and keeps no state.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/verify/verify.h"

namespace cortado::graph {

struct Pass {
  std::string name;
  std::string help;
  void (*run)(Graph& graph);
  bool optional = false;                      ///< may be disabled by name
  std::optional<Invariant> establishes = {};  ///< holds from this pass on
};

/// The effect of one pass.
struct PassReport {
  std::string name;
  double seconds = 0;
  std::string change;  ///< "nodes 71 -> 53; ..."; "none"; "switched off"
};

/// Whether a backward of the node has anything to compute: Node::runs_backward.
inline bool wants_gradients(const Node& node) {
  const auto any = [](const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
  };
  return any(node.wants_dx) || any(node.wants_dw);
}

/// All passes in order.
const std::vector<Pass>& all_passes();

/// Runs the passes up to the one named `last` (all when empty). Throws Error(kUsage) for an unknown name. With
/// BuildOptions::verify, throws an internal Error that names the pass which left an invalid graph.
std::vector<PassReport> run_passes(Graph& graph, const std::string& last = {});
/// The same with the given passes: for tests of the checks.
std::vector<PassReport> run_passes(Graph& graph, const std::vector<Pass>& passes, const std::string& last);

void eliminate_dead_nodes(Graph& graph);
void infer_shapes(Graph& graph);
void share_weights(Graph& graph);
void freeze(Graph& graph);
void mark_backward(Graph& graph);
void insert_splits(Graph& graph);
void propagate_dynamic_rows(Graph& graph);
void fold_batch_norm(Graph& graph);
void fuse_sums(Graph& graph);
void fuse_concat_shuffle(Graph& graph);
void fuse(Graph& graph);
void agree_fusions(Graph& graph);
void use_8_bits(Graph& graph);
void choose_layouts(Graph& graph);
void agree_stored_fusions(Graph& graph);

/// The fusion of that kind that the node's layer offers on that side.
std::optional<Fusion> fusion_offered(const Graph& graph, const Node& node, const FusionKind& kind, Fusion::Side side);

/// Whether a node's result cannot be below 0, so that its 8-bit integers are unsigned.
bool is_never_negative(const Graph& graph, const Node& node);

}  // namespace cortado::graph
