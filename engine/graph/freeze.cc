#include "graph/freeze.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "layers/registry.h"

namespace cortado::graph {

namespace {

bool keeps(const Weight& weight) { return weight.spec.learned && !weight.learns(); }

}  // namespace

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

void hold_statistics(caffe::LayerParameter& layer) {
  const LayerType* type = find_layer_type(layer.type());
  if (type && type->hold_statistics) type->hold_statistics(layer);
}

std::shared_ptr<const NetFile> with_frozen_averages(std::shared_ptr<const NetFile> file,
                                                    const std::vector<std::string>& patterns) {
  if (patterns.empty()) return file;
  auto changed = std::make_shared<NetFile>(*file);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer())
    if (matches_any(patterns, layer.name())) hold_statistics(layer);
  return changed;
}

std::vector<std::string> layers_that_keep(const Graph& graph) {
  std::vector<std::string> names;
  for (const SourceLayer& layer : graph.layers)
    if (std::any_of(layer.weights.begin(), layer.weights.end(), [&](WeightId id) { return keeps(graph.weight(id)); }))
      names.push_back(layer.config->name());
  return names;
}

int64_t count_frozen(const Graph& graph) {
  std::set<WeightId> seen;
  int64_t sum = 0;
  for (const SourceLayer& layer : graph.layers)
    for (const WeightId id : layer.weights)
      if (keeps(graph.weight(id)) && seen.insert(id).second) sum += graph.weight(id).spec.shape.count();
  return sum;
}

}  // namespace cortado::graph
