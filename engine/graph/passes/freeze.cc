// Sets the learning rate of all weights of the layers in BuildOptions::freeze to 0, shared ones included.

#include "graph/freeze.h"

#include <algorithm>

#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// Whether the node may have weights: unknown after a dataset that was not opened.
bool may_have_weights(const Graph& graph, const Node& node) {
  return !graph.source(node.sources[0]).weights.empty() ||
         std::any_of(node.x.begin(), node.x.end(), [&](ValueId id) { return !graph.value(id).shape_known; });
}

std::vector<std::string> names_with_weights(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes)
    if (may_have_weights(graph, node)) names.push_back(node.name);
  return names;
}

[[noreturn]] void throw_unmatched(const std::string& pattern, const std::vector<std::string>& names) {
  constexpr size_t kMaxNames = 12;
  std::string bare = pattern, list;
  std::erase(bare, '*');
  for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) list += (i ? ", " : "") + names[i];
  if (names.size() > kMaxNames) list += ", ...";
  const std::string guess = did_you_mean(bare, names);
  throw Error(ExitCode::kUsage, "--freeze=" + pattern + " matches no layer with weights",
              (guess.empty() ? "" : guess + " ") + "layers with weights: " + list);
}

}  // namespace

void freeze(Graph& graph) {
  const std::vector<std::string>& patterns = graph.options.freeze;
  if (patterns.empty()) return;
  const std::vector<std::string> names = names_with_weights(graph);
  for (const std::string& pattern : patterns)
    if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return matches_any({pattern}, name); }))
      throw_unmatched(pattern, names);
  for (const SourceLayer& layer : graph.layers)
    if (matches_any(patterns, layer.config->name()))
      for (const WeightId id : layer.weights) graph.weight(id).lr_mult = graph.weight(id).decay_mult = 0;
  if (std::all_of(names.begin(), names.end(), [&](const auto& name) { return matches_any(patterns, name); }))
    throw Error(ExitCode::kUsage, "--freeze freezes every layer with weights: nothing is left to train",
                "leave the last layers out, for example --freeze='conv*'");
}

}  // namespace cortado::graph
