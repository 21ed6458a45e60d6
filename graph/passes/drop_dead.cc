// Where the caller said which blobs it wants and no others (BuildOptions::only_kept), what does not lead to one of them goes:
// nodes, the layers they stand for and their weights. Features out of the middle of a net cost what lies before them.

#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

std::vector<bool> nodes_that_matter(const Graph& graph) {
  std::vector<bool> wanted(graph.values.size()), matters(graph.nodes.size());
  for (size_t v = 0; v < wanted.size(); ++v) wanted[v] = graph.values[v].kept;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const ValueId id : node.y) matters[n] = matters[n] || wanted[size_t(id)];
    if (matters[n])
      for (const ValueId id : node.x) wanted[size_t(id)] = true;
  }
  return matters;
}

/// Leaves the layers and the weights that a node still uses, under new numbers.
void renumber(Graph& graph) {
  std::vector<int> layer(graph.layers.size(), -1), weight(graph.weights.size(), -1);
  std::vector<SourceLayer> layers;
  std::vector<Weight> weights;
  for (const Node& node : graph.nodes) {
    for (const int source : node.sources) layer[size_t(source)] = 0;
    for (const WeightId id : node.w) weight[size_t(id)] = 0;
  }
  for (size_t i = 0; i < layer.size(); ++i)
    if (layer[i] == 0) layer[i] = int(layers.size()), layers.push_back(std::move(graph.layers[i]));
    else graph.dropped.push_back(graph.layers[i].config->name());
  for (size_t i = 0; i < weight.size(); ++i)
    if (weight[i] == 0) weight[i] = int(weights.size()), weights.push_back(std::move(graph.weights[i]));
  for (SourceLayer& left : layers)
    for (WeightId& id : left.weights) id = weight[size_t(id)];
  for (Node& node : graph.nodes) {
    for (int& source : node.sources) source = layer[size_t(source)];
    for (WeightId& id : node.w) id = weight[size_t(id)];
  }
  graph.layers = std::move(layers);
  graph.weights = std::move(weights);
}

/// A weight that dead and living layers share belongs to a living one from now on.
void find_owners(Graph& graph) {
  for (Weight& weight : graph.weights)
    if (graph.source_named(weight.layer) < 0) weight.layer.clear();
  for (const SourceLayer& layer : graph.layers)
    for (size_t k = 0; k < layer.weights.size(); ++k) {
      Weight& weight = graph.weights[size_t(layer.weights[k])];
      if (!weight.layer.empty()) continue;
      weight.layer = layer.config->name();
      weight.index = int(k);
    }
}

}  // namespace

void drop_dead(Graph& graph) {
  if (!graph.options.only_kept) return;
  const std::vector<bool> matters = nodes_that_matter(graph);
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (matters[n]) nodes.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(nodes);
  renumber(graph);
  index_readers(graph);
  find_owners(graph);
  std::erase_if(graph.names, [&](const auto& name) { return graph.values[size_t(name.second)].producer < 0; });
}

}  // namespace cortado::graph
