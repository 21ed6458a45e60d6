#include "net/label_origin.h"

namespace cortado {

std::optional<LabelOrigin> origin_of(const graph::Graph& graph, graph::ValueId id) {
  for (size_t steps = 0; steps <= graph.nodes.size(); ++steps) {
    const graph::Value& value = graph.value(id);
    if (value.producer < 0) return std::nullopt;
    const graph::Node& node = graph.node(value.producer);
    if (const auto* source = node.layer->roles().records) return LabelOrigin{&node, value.producer_output, source};
    if (!node.layer->roles().views_x || node.x.size() != 1) return std::nullopt;
    id = node.x[0];
  }
  return std::nullopt;
}

}  // namespace cortado
