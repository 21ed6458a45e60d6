// Where a layer's number of rows depends on its values (layers/roles.h), it and all layers after it run on the actual
// rows: each is wrapped in a DynamicRowsLayer. The net keeps the shapes of the last pass.

#include <algorithm>

#include "graph/dynamic_rows_layer.h"
#include "graph/passes/passes.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado::graph {

namespace {

/// Creates the node's layer again from its options; layers that passes added have only a type and tops.
std::function<std::unique_ptr<Layer>()> maker_of_rows(const Graph& graph, const Node& node) {
  auto made = std::make_shared<caffe::LayerParameter>();
  made->set_type(node.type);
  for (const ValueId id : node.y) made->add_top(graph.value(id).name);
  const caffe::LayerParameter* config = node.sources.empty() ? made.get() : graph.source(node.sources[0]).config;
  return [type = find_layer_type(node.type), made, config, phase = graph.phase(), seed = graph.options.seed,
          open_data = graph.options.open_data] {
    return type->make({*config, phase, 0, seed, {}, open_data});
  };
}

}  // namespace

void propagate_dynamic_rows(Graph& graph) {
  for (Node& node : graph.nodes) {
    const auto* rows = node.layer->roles().rows;
    const bool starts = rows && rows->rows_vary();
    const auto is_dynamic = [&](ValueId id) { return graph.value(id).dynamic_rows; };
    if (!starts && std::none_of(node.x.begin(), node.x.end(), is_dynamic)) continue;
    for (const ValueId id : node.y) graph.value(id).dynamic_rows = true;
    auto make = maker_of_rows(graph, node);
    node.layer = std::make_unique<DynamicRowsLayer>(node.name, std::move(node.layer), std::move(make));
  }
}

}  // namespace cortado::graph
