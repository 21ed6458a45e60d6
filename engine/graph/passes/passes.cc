#include "graph/passes/passes.h"

#include <algorithm>
#include <chrono>

#include "graph/verify/graph_stats.h"

namespace cortado::graph {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"eliminate_dead_nodes", "what no wanted blob needs goes", eliminate_dead_nodes},
      {"infer_shapes", "shapes of values and weights", infer_shapes, false, Invariant::kShapes},
      {"share_weights", "weights of one name become one", share_weights},
      {"freeze", "layers that are to keep their weights do not learn", freeze},
      {"mark_backward", "which gradients are wanted", mark_backward, false, Invariant::kBackward},
      {"insert_splits", "values with several gradients are split", insert_splits, false, Invariant::kOneGradient},
      {"propagate_dynamic_rows", "what reads rows that were chosen runs on as many as there are",
       propagate_dynamic_rows},
      {"fold_batch_norm", "frozen: BatchNorm and Scale go into the weights before them", fold_batch_norm, true},
      {"fuse_sums", "a sum goes into the normalisation before it; frozen: into the convolution", fuse_sums, true},
      {"fuse_concat_shuffle", "equal parts whose channels are dealt out are joined so at once", fuse_concat_shuffle,
       true},
      {"fuse", "layers take over their followers", fuse, true},
      {"agree_fusions", "neighbours share work, whatever the storage between them", agree_fusions, true},
      {"use_8_bits", "frozen: layers that have scales for it run on 8-bit integers", use_8_bits, true},
      {"choose_layouts", "how values are stored: layout and type, reorders between", choose_layouts, false,
       Invariant::kStorage},
      {"agree_stored_fusions", "neighbours share work on what is stored alike", agree_stored_fusions, true},
  };
  return passes;
}

namespace {

/// Of a pass, or of a kind of fusion that one looks for.
void check_name(const std::string& name) {
  std::vector<std::string> known;
  for (const Pass& pass : all_passes()) known.push_back(pass.name);
  for (const FusionKind* kind : all_fusion_kinds()) known.push_back(kind->name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string list;
  for (const std::string& pass : known) list += (list.empty() ? "" : ", ") + pass;
  throw Error(ExitCode::kUsage, "there is no pass '" + name + "'", "the passes are: " + list);
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
