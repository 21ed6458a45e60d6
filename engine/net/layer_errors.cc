#include "net/layer_errors.h"

#include <cmath>

#include "core/error.h"

namespace cortado {

double LayerError::decibels() const { return 10 * std::log10(signal / noise); }

LayerErrors::LayerErrors(Net& exact, Net& rounded, const std::vector<std::string>& nodes)
    : exact_(exact), rounded_(rounded) {
  for (const std::string& node : nodes) errors_.push_back({node});
}

void LayerErrors::run_batch() {
  size_t of_exact = 0, of_rounded = 0;
  for (LayerError& error : errors_) {
    const auto& exact = run_to(exact_, of_exact, error.node, exact_values_);
    const auto& rounded = run_to(rounded_, of_rounded, error.node, rounded_values_);
    for (size_t i = 0; i < exact.size(); ++i) {
      const double difference = double(rounded[i]) - double(exact[i]);
      error.signal += double(exact[i]) * double(exact[i]);
      error.noise += difference * difference;
    }
  }
  run_rest(exact_, of_exact);
  run_rest(rounded_, of_rounded);
}

const std::vector<float>& LayerErrors::run_to(Net& net, size_t& step, const std::string& node,
                                              std::vector<float>& values) {
  for (const graph::Plan& plan = net.plan(); step < net.forward_steps();) {
    net.run_forward_step(step);
    const graph::Node& done = plan.graph.node(plan.forward[step++].node);
    if (done.name != node) continue;
    values.resize(size_t(plan.graph.value(done.y[0]).shape.count()));
    net.read_blob_to(done.y[0], values.data());
    return values;
  }
  throw_internal("the nets run their layers in different orders");
}

void LayerErrors::run_rest(Net& net, size_t step) {
  while (step < net.forward_steps()) net.run_forward_step(step++);
}

}  // namespace cortado
