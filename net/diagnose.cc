// Looking for what went wrong: the first value that is not finite, and Caffe's debug_info.

#include <cmath>

#include "core/log.h"
#include "net/bound_step.h"

namespace cortado {

namespace {

bool all_finite(const void* data, int64_t count) {
  const float* values = static_cast<const float*>(data);
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i])) return false;
  return true;
}

double mean_abs(const float* values, int64_t stored, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < stored; ++i) sum += std::fabs(values[i]);
  return count > 0 ? sum / double(count) : 0;
}

std::string label(const graph::Node& node) { return "layer '" + node.name + "' (" + node.type + "): "; }

}  // namespace

std::string Net::first_not_finite() const {
  for (size_t id = 0; id < plan_.graph.weights.size(); ++id)
    if (!all_finite(weight(graph::WeightId(id)), plan_.w_formats[id].bytes() / 4)) {
      const graph::Weight& w = plan_.graph.weights[id];
      return "layer '" + w.layer + "': weight blob " + std::to_string(w.index);
    }
  // Memory is reused, so the pass is run once more on the same batch and every value is looked at as it appears.
  for (const BoundStep& step : forward_) {
    const graph::Node& node = plan_.graph.nodes[size_t(step.node)];
    if (const auto position = node.layer->position()) step.layer->seek(*position - uint64_t(step.io.y[0].shape()[0]));
    step.layer->forward(context_, step.io);
    for (size_t i = 0; i < node.y.size(); ++i)
      if (!all_finite(step.io.y[i].data, step.io.y[i].spec.elements()))
        return label(node) + "top '" + plan_.graph.values[size_t(node.y[i])].name + "'";
  }
  return {};
}

void Net::log_debug_info(bool backward) const {
  for (const BoundStep& step : backward ? backward_ : forward_) {
    const graph::Node& node = plan_.graph.nodes[size_t(step.node)];
    const auto& tensors = backward ? step.io.dx : step.io.y;
    const auto& ids = backward ? node.x : node.y;
    for (size_t i = 0; i < ids.size(); ++i) {
      const graph::Value& value = plan_.graph.values[size_t(ids[i])];
      if (!tensors[i].data || (!backward && !value.kept)) continue;
      log_info() << (backward ? "    [Backward] Layer " : "    [Forward] Layer ") << node.name
                 << (backward ? ", bottom blob " : ", top blob ") << value.name << (backward ? " diff: " : " data: ")
                 << mean_abs(tensors[i].f32(), value.spec().elements(), value.shape.count());
    }
    for (size_t k = 0; k < node.w.size(); ++k) {
      const float* values = backward ? step.io.dw[k].f32() : step.io.w[k].f32();
      if (!values) continue;
      log_info() << (backward ? "    [Backward] Layer " : "    [Forward] Layer ") << node.name << ", param blob " << k
                 << (backward ? " diff: " : " data: ")
                 << mean_abs(values, plan_.w_formats[size_t(node.w[k])].bytes() / 4, step.io.w[k].shape().count());
    }
  }
}

}  // namespace cortado
