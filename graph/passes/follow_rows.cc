// Where a layer gives as many rows as its values tell (layers/dynamic_rows.h), it and all layers behind it run on the
// rows that there are: each is put into a DynamicRowsLayer, and their values' shapes of the latest pass are kept beside
// them.

#include <algorithm>

#include "graph/dynamic_rows_layer.h"
#include "graph/passes/passes.h"
#include "layers/dynamic_rows.h"
#include "layers/registry.h"

namespace cortado::graph {

namespace {

std::vector<std::shared_ptr<Shape>> current_shapes(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<std::shared_ptr<Shape>> shapes;
  for (const ValueId id : ids) shapes.push_back(graph.values[size_t(id)].live);
  return shapes;
}

/// What the node's layer was made from; of those that passes made, the type and the tops are all there is.
std::function<std::unique_ptr<Layer>()> maker_of(const Graph& graph, const Node& node) {
  auto made = std::make_shared<caffe::LayerParameter>();
  made->set_type(node.type);
  for (const ValueId id : node.y) made->add_top(graph.values[size_t(id)].name);
  const caffe::LayerParameter* config =
      node.sources.empty() ? made.get() : graph.layers[size_t(node.sources[0])].config;
  return [type = find_layer_type(node.type), made, config, phase = graph.phase(), seed = graph.options.seed] {
    return type->make({*config, phase, 0, seed, false});
  };
}

}  // namespace

void propagate_dynamic_rows(Graph& graph) {
  for (Node& node : graph.nodes) {
    std::vector<std::shared_ptr<Shape>> x = current_shapes(graph, node.x);
    const bool starts = dynamic_cast<const DynamicRows*>(node.layer.get()) != nullptr;
    if (!starts && std::none_of(x.begin(), x.end(), [](const auto& shape) { return shape != nullptr; })) continue;
    for (const ValueId id : node.y) {
      Value& value = graph.values[size_t(id)];
      value.live = std::make_shared<Shape>(value.shape);
    }
    auto make = maker_of(graph, node);
    node.layer = std::make_unique<DynamicRowsLayer>(node.name, std::move(node.layer), std::move(make), std::move(x),
                                                    current_shapes(graph, node.y));
  }
}

}  // namespace cortado::graph
