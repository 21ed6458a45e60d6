// Finds the first value that is not finite.

#include "core/text/text.h"
#include "layers/common/losses/class_labels.h"
#include "net/bound_step.h"
#include "net/inputs.h"
#include "net/tensor_values.h"

namespace cortado {

namespace {

bool all_finite(const std::vector<float>& values) { return not_finite_in(values).empty(); }

std::string label(const graph::Node& node) { return layer_text(node.name, node.type) + ": "; }

}  // namespace

/// Throws the message of `bad` with the label's record, if known, and the layer that rejects it.
void Net::blame_record(const BoundStep& step, const BadLabel& bad) const {
  const graph::Node& node = plan_.graph.node(step.node);
  const Diagnostic& mistake = bad.mistakes()[0];
  const std::optional<LabelOrigin> origin = origin_of(plan_.graph, node.x[1]);
  if (origin) {
    const Shape& labels = plan_.graph.value(origin->node->y[size_t(origin->output)]).shape;
    const int64_t batch = labels[0], item = bad.row() / (labels.count() / batch);
    origin->source->fail_record(item, bad.verdict() + " of layer '" + node.name + "' (" + node.type + ")",
                                mistake.hint);
  }
  throw Error(ExitCode::kData, label(node) + mistake.message, mistake.hint);
}

void Net::validate(const BoundStep& step) const {
  try {
    step.layer->validate(context_, step.io);
  } catch (const BadLabel& bad) {
    blame_record(step, bad);
  }
}

NotFinite Net::not_finite_data(const BoundStep& step, size_t y) const {
  const graph::Node& node = plan_.graph.node(step.node);
  const Tensor& tensor = step.io.y[y];
  std::vector<float> values(size_t(tensor.shape().count()));
  read_values(context_, tensor, values.data());
  size_t at = 0;
  const std::string what = "it contains " + not_finite_in(values, &at);
  const int64_t samples = tensor.shape().axes() > 0 ? tensor.shape()[0] : 1;
  const int64_t item = int64_t(at) * samples / int64_t(values.size());
  NotFinite found{NotFinite::In::kData, label(node) + "top '" + plan_.graph.value(node.y[y]).name + "'", ""};
  if (auto* cursor = step.layer->roles().cursor) found.record = cursor->about_record(item, what);
  if (found.record.empty()) found.record = "sample " + std::to_string(item) + " of the batch: " + what;
  return found;
}

NotFinite Net::first_not_finite() const { return search_not_finite(false); }

NotFinite Net::first_not_finite_given() const { return search_not_finite(true); }

NotFinite Net::search_not_finite(bool given_only) const {
  for (size_t id = 0; id < plan_.graph.weights.size(); ++id)
    if (!all_finite(values_of(context_, weight(graph::WeightId(id)), plan_.w_formats[id]))) {
      const graph::Weight& w = plan_.graph.weights[id];
      return {NotFinite::In::kWeight, layer_text(w.layer) + ": weight blob " + std::to_string(w.index), ""};
    }
  // Memory is reused, so the pass runs again on the same batch and each value is checked right after its step.
  for (const BoundStep& step : forward_) {
    const graph::Node& node = plan_.graph.node(step.node);
    auto* const cursor = step.layer->roles().cursor;
    if (given_only && !cursor) continue;
    if (cursor) cursor->repeat();
    step.layer->forward(context_, step.io);
    for (size_t i = 0; i < node.y.size(); ++i) {
      if (is_8_bit(step.io.y[i].spec.dtype) || all_finite(values_of(context_, step.io.y[i]))) continue;
      if (cursor || node.x.empty()) return not_finite_data(step, i);
      validate(step);
      return {NotFinite::In::kResult, label(node) + "top '" + plan_.graph.value(node.y[i]).name + "'", ""};
    }
  }
  if (given_only || plan_.graph.options.transient_gradients) return {};  // whose memory is shared with other values
  for (const Param& param : params_)
    if (!all_finite(values_of(context_, param.dw, param.format)))
      return {NotFinite::In::kGradient,
              layer_text(param.layer) + ": the gradient of weight blob " + std::to_string(param.index), ""};
  return {};
}

}  // namespace cortado
