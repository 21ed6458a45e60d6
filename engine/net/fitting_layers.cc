#include "net/fitting_layers.h"

#include "graph/passes/passes.h"

namespace cortado {

namespace {

bool weights_fit(const graph::Graph& graph, const graph::SourceLayer& layer, const graph::Graph& given) {
  const int theirs = given.source_named(layer.config->name());
  if (theirs < 0) return true;
  const std::vector<graph::WeightId>& weights = given.source(theirs).weights;
  for (size_t k = 0; k < std::min(weights.size(), layer.weights.size()); ++k)
    if (given.weight(weights[k]).spec.shape != graph.weight(layer.weights[k]).spec.shape) return false;
  return true;
}

}  // namespace

size_t fitting_layers(std::shared_ptr<const NetFile> file, const graph::BuildOptions& options, const Net& weights_of) {
  graph::Graph graph = graph::build(std::move(file), options);
  size_t fitting = graph.layers.size();
  try {
    graph::run_passes(graph, "infer_shapes");
  } catch (const Error&) {
    if (graph.unfit < 0) throw;
    fitting = size_t(graph.unfit);
  }
  for (size_t i = 0; i < fitting; ++i)
    if (!weights_fit(graph, graph.layers[i], weights_of.plan().graph)) return i;
  return fitting;
}

}  // namespace cortado
