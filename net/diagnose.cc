// Looking for what went wrong: the first value that is not finite, and Caffe's debug_info.

#include <algorithm>
#include <cmath>

#include "core/half.h"
#include "core/log.h"
#include "layers/class_labels.h"
#include "net/bound_step.h"
#include "net/label_origin.h"

namespace cortado {

namespace {

/// A copy of `count` stored values, as floats.
std::vector<float> values_of(Context& context, const void* data, DType dtype, int64_t count) {
  std::vector<std::byte> stored(size_t(count * size_of(dtype)));
  copy_to_host(context, stored.data(), data, stored.size());
  return with_float_type(dtype, [&](auto zero) {
    const auto* values = reinterpret_cast<const decltype(zero)*>(stored.data());
    return std::vector<float>(values, values + count);
  });
}

std::vector<float> values_of(Context& context, const Tensor& tensor) {
  return values_of(context, tensor.data, tensor.spec.dtype, tensor.spec.elements());
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

/// Of `count` values, which are fewer than those stored where some are padding.
double mean_abs(const std::vector<float>& stored, int64_t count) {
  double sum = 0;
  for (const float value : stored) sum += std::fabs(value);
  return count > 0 ? sum / double(count) : 0;
}

std::string label(const graph::Node& node) { return "layer '" + node.name + "' (" + node.type + "): "; }

}  // namespace

/// Throws what `bad` says with the record that the label is of, where that is known, and the layer that minds.
void Net::blame_record(const BoundStep& step, const BadLabel& bad) const {
  const graph::Node& node = plan_.graph.nodes[size_t(step.node)];
  const Mistake& mistake = bad.mistakes()[0];
  const std::optional<LabelOrigin> origin = origin_of(plan_.graph, node.x[1]);
  const data::DataPipeline* pipeline = origin ? origin->source->pipeline() : nullptr;
  if (!pipeline) throw Error(ExitCode::kData, label(node) + mistake.message, mistake.hint);
  const Shape& labels = plan_.graph.values[size_t(origin->node->y[size_t(origin->output)])].shape;
  const int64_t batch = labels[0], item = bad.row() / (labels.count() / batch);
  pipeline->source().fail(
      pipeline->record(pipeline->position() - uint64_t(batch - item)),
      data::SampleError(bad.verdict() + " of layer '" + node.name + "' (" + node.type + ")", mistake.hint));
}

void Net::explain(const BoundStep& step) const {
  try {
    step.layer->explain(context_, step.io);
  } catch (const BadLabel& bad) {
    blame_record(step, bad);
  }
}

std::string Net::first_not_finite() const {
  for (size_t id = 0; id < plan_.graph.weights.size(); ++id)
    if (!all_finite(values_of(context_, weight(graph::WeightId(id)), DType::kF32, plan_.w_formats[id].bytes() / 4))) {
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
        explain(step);
        return label(node) + "top '" + plan_.graph.values[size_t(node.y[i])].name + "'";
      }
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
                 << mean_abs(values_of(context_, tensors[i]), value.shape.count());
    }
    for (size_t k = 0; k < node.w.size(); ++k) {
      const float* values = backward ? step.io.dw[k].f32() : step.io.w[k].f32();
      if (!values) continue;
      log_info() << (backward ? "    [Backward] Layer " : "    [Forward] Layer ") << node.name << ", param blob " << k
                 << (backward ? " diff: " : " data: ")
                 << mean_abs(values_of(context_, values, DType::kF32, plan_.w_formats[size_t(node.w[k])].bytes() / 4),
                             step.io.w[k].shape().count());
    }
  }
}

}  // namespace cortado
