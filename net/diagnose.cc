// Looking for what went wrong: the first value that is not finite.

#include <algorithm>
#include <cmath>

#include "net/bound_step.h"
#include "net/stored_values.h"

namespace cortado {

namespace {

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

std::string label(const graph::Node& node) { return "layer '" + node.name + "' (" + node.type + "): "; }

}  // namespace

std::string Net::first_not_finite() const {
  for (size_t id = 0; id < plan_.graph.weights.size(); ++id)
    if (!all_finite(values_of(context_, weight(graph::WeightId(id)), plan_.w_formats[id]))) {
      const graph::Weight& w = plan_.graph.weights[id];
      return "layer '" + w.layer + "': weight blob " + std::to_string(w.index);
    }
  // Memory is reused, so the pass is run once more on the same batch and every value is looked at as it appears.
  for (const BoundStep& step : forward_) {
    const graph::Node& node = plan_.graph.nodes[size_t(step.node)];
    if (const auto position = node.layer->position()) step.layer->seek(*position - uint64_t(step.io.y[0].shape()[0]));
    step.layer->forward(context_, step.io);
    for (size_t i = 0; i < node.y.size(); ++i)
      if (!all_finite(values_of(context_, step.io.y[i]))) {
        step.layer->explain(context_, step.io);
        return label(node) + "top '" + plan_.graph.values[size_t(node.y[i])].name + "'";
      }
  }
  return {};
}

}  // namespace cortado
