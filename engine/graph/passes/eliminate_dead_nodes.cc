// With BuildOptions::only_kept, removes nodes (and their layers) that no requested blob depends on. Features from the
// middle of a net then cost only the layers before them.

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

/// Removes layers that no node runs, and renumbers the others.
void drop_layers(Graph& graph) {
  std::vector<bool> lives(graph.layers.size());
  for (const Node& node : graph.nodes)
    for (const int source : node.sources) lives[size_t(source)] = true;
  std::vector<SourceLayer> left;
  std::vector<int> number;
  for (size_t i = 0; i < lives.size(); ++i) {
    number.push_back(int(left.size()));
    if (lives[i])
      left.push_back(std::move(graph.layers[i]));
    else
      graph.dropped.push_back(graph.layers[i].config->name());
  }
  graph.layers = std::move(left);
  for (Node& node : graph.nodes)
    for (int& source : node.sources) source = number[size_t(source)];
}

}  // namespace

void eliminate_dead_nodes(Graph& graph) {
  if (!graph.options.only_kept) return;
  const std::vector<bool> matters = nodes_that_matter(graph);
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (matters[n]) nodes.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(nodes);
  drop_layers(graph);
  index_readers(graph);
  std::erase_if(graph.names, [&](const auto& name) { return graph.value(name.second).producer < 0; });
}

}  // namespace cortado::graph
