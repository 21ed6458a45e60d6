#include "graph/verify/graph_stats.h"

#include <algorithm>
#include <map>

namespace cortado::graph {

GraphStats::GraphStats(const Graph& graph) {
  int64_t taken_over = 0, backward = 0;
  std::map<std::string, int64_t> agreed;
  for (const FusionKind* kind : all_fusion_kinds()) agreed[kind->name] = 0;
  for (const Node& node : graph.nodes) {
    taken_over += std::max<int64_t>(0, int64_t(node.sources.size()) - 1);
    backward += node.runs_backward;
    for (const Fusion& fusion : node.fusions)
      if (fusion.side == Fusion::kReader) ++agreed[fusion.kind->name];
  }
  int64_t values = 0, known = 0, gradients = 0, dynamic = 0, laid_out = 0, half = 0;
  for (const Value& value : graph.values) {
    if (value.producer < 0) continue;
    ++values;
    known += value.shape_known;
    gradients += value.wants_gradient;
    dynamic += value.dynamic_rows;
    laid_out += value.spec().layout != Layout::kPlain;
    half += value.dtype == DType::kF16 || value.dtype == DType::kBF16;
  }
  counts_ = {{"layers", int64_t(graph.layers.size())},
             {"nodes", int64_t(graph.nodes.size())},
             {"layers taken over", taken_over},
             {"values", values},
             {"shapes known", known},
             {"weights", int64_t(graph.weights.size())},
             {"nodes with backward", backward},
             {"gradients", gradients},
             {"values with dynamic rows", dynamic},
             {"values not in plain layout", laid_out},
             {"16-bit values", half}};
  counts_.insert(counts_.end(), agreed.begin(), agreed.end());
}

std::string GraphStats::since(const GraphStats& before) const {
  std::string text;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == before.counts_[i]) continue;
    text += (text.empty() ? "" : "; ") + counts_[i].first + " " + std::to_string(before.counts_[i].second) + " -> " +
            std::to_string(counts_[i].second);
  }
  return text.empty() ? "none" : text;
}

}  // namespace cortado::graph
