#include "graph/passes/passes.h"

#include <algorithm>
#include <chrono>

#include "graph/verify/graph_stats.h"

namespace cortado::graph {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"eliminate_dead_nodes", "removes what no requested blob needs", eliminate_dead_nodes},
      {"infer_shapes", "infers shapes of values and weights", infer_shapes, false, Invariant::kShapes},
      {"share_weights", "merges weights of the same name", share_weights},
      {"freeze", "excludes frozen layers from training", freeze},
      {"mark_backward", "marks the gradients to compute", mark_backward, false, Invariant::kBackward},
      {"insert_splits", "splits values with several gradients", insert_splits, false, Invariant::kOneGradient},
      {"propagate_dynamic_rows", "runs layers after selected rows on the actual number", propagate_dynamic_rows},
      {"fold_batch_norm", "frozen: folds BatchNorm and Scale into the weights before them", fold_batch_norm, true},
      {"fuse_sums", "merges a sum into the BatchNorm before it; frozen: into the convolution", fuse_sums, true},
      {"fuse_concat_shuffle", "merges Concat and ShuffleChannel of equal parts", fuse_concat_shuffle, true},
      {"fuse", "merges layers with their followers", fuse, true},
      {"agree_fusions", "fuses neighbours in any layout", agree_fusions, true},
      {"use_8_bits", "frozen: runs layers with scales on 8-bit integers", use_8_bits, true},
      {"choose_layouts", "chooses layouts and types of values, inserts reorders", choose_layouts, false,
       Invariant::kStorage},
      {"agree_stored_fusions", "fuses neighbours that store values in the same layout", agree_stored_fusions, true},
  };
  return passes;
}

namespace {

/// Throws for a name that is neither a pass nor a kind of fusion.
void check_name(const std::string& name) {
  std::vector<std::string> known;
  for (const Pass& pass : all_passes()) known.push_back(pass.name);
  for (const FusionKind* kind : all_fusion_kinds()) known.push_back(kind->name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (const std::string& pass : known) list += (list.empty() ? "" : ", ") + pass;
  throw Error(ExitCode::kUsage, "unknown pass '" + name + "'", "use one of: " + list);
}

}  // namespace

std::vector<PassReport> run_passes(Graph& graph, const std::string& last) {
  if (!last.empty()) check_name(last);
  for (const std::string& name : graph.options.switch_off) check_name(name);
  return run_passes(graph, all_passes(), last);
}

std::vector<PassReport> run_passes(Graph& graph, const std::vector<Pass>& passes, const std::string& last) {
  const auto& off = graph.options.switch_off;
  std::vector<PassReport> reports;
  std::set<Invariant> established;
  GraphStats before(graph);
  for (const Pass& pass : passes) {
    if (pass.optional && std::ranges::count(off, pass.name) > 0) {
      reports.push_back({pass.name, 0, "switched off"});
    } else {
      const auto begin = std::chrono::steady_clock::now();
      pass.run(graph);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      const GraphStats after(graph);
      reports.push_back({pass.name, taken.count(), after.since(before)});
      before = after;
    }
    if (pass.establishes) established.insert(*pass.establishes);
    if (graph.options.verify) throw_if_invalid(find_faults(graph, established), "pass '" + pass.name + "'");
    if (pass.name == last) break;
  }
  return reports;
}

}  // namespace cortado::graph
