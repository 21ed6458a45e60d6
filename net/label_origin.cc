#include "net/label_origin.h"

#include "layers/common/view_layer.h"

namespace cortado {

std::optional<LabelOrigin> origin_of(const graph::Graph& graph, graph::ValueId id) {
  for (size_t steps = 0; steps <= graph.nodes.size(); ++steps) {
    const graph::Value& value = graph.value(id);
    if (value.producer < 0) return std::nullopt;
    const graph::Node& node = graph.node(value.producer);
    if (const auto* source = dynamic_cast<const RecordSource*>(node.layer.get()))
      return LabelOrigin{&node, value.producer_output, source};
    const bool shows = dynamic_cast<const ViewLayer*>(node.layer.get()) || node.type == "Split";
    if (!shows || node.x.size() != 1) return std::nullopt;
    id = node.x[0];
  }
  return std::nullopt;
}

}  // namespace cortado
