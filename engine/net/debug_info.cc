// Caffe's debug_info: the mean absolute value of every top and weight after its layer's forward, of every gradient
// after the backward that computed it, and the norms of all weights and gradients at the end.
//
// Memory is reused and weights may be updated within backward. Each line is therefore written right after the layer
// that computed the value. Padding lanes are zero.

#include <cmath>

#include "core/log.h"
#include "layers/type_names.h"
#include "net/bound_step.h"
#include "net/tensor_values.h"

namespace cortado {

namespace {

/// Mean over `count` values; more are stored if there is padding.
double mean_abs(const std::vector<float>& stored, int64_t count) {
  double sum = 0;
  for (const float value : stored) sum += std::fabs(double(value));
  return count > 0 ? sum / double(count) : 0;
}

void add_to(double& l1, double& squares, const std::vector<float>& values, double unit) {
  for (const float stored : values) {
    const double value = std::fabs(double(stored)) * unit;
    l1 += value;
    squares += value * value;
  }
}

/// Mean over a blob, which may have fewer rows than its memory.
double mean_of_blob(Context& context, const graph::Value& value, const Shape& shape, const void* data) {
  TensorSpec spec = value.spec();
  spec.shape = shape;
  return mean_abs(values_of(context, data, spec.dtype, spec.elements()), spec.shape.count());
}

/// Whether the node exists only in the plan, not in the file.
bool is_reorder(const graph::Node& node) { return node.type == type_names::kReorder; }

}  // namespace

/// Logs tops of the step and of the views after it, which have no step of their own.
void Net::log_tops(size_t step) const {
  const size_t end = step + 1 < forward_.size() ? size_t(forward_[step + 1].node) : plan_.graph.nodes.size();
  for (size_t n = size_t(forward_[step].node); n < end; ++n) {
    const graph::Node& node = plan_.graph.nodes[n];
    if (is_reorder(node)) continue;
    for (const graph::ValueId id : node.y) {
      const graph::Value& value = plan_.graph.value(id);
      const int64_t offset = plan_.values[size_t(id)].offset;
      if (offset < 0) continue;
      log_info() << "    [Forward] Layer " << node.name << ", top blob " << value.name
                 << " data: " << mean_of_blob(context_, value, value_shape(id), arena_.data() + offset);
    }
    for (size_t k = 0; k < node.w.size(); ++k) {
      const size_t id = size_t(node.w[k]);
      const graph::Weight& w = plan_.graph.weights[id];
      log_info() << "    [Forward] Layer " << node.name << ", param blob "
                 << (w.share_name.empty() ? std::to_string(k) : w.share_name) << " data: "
                 << mean_abs(values_of(context_, weight(node.w[k]), plan_.w_formats[id]), w.spec.shape.count());
    }
  }
}

void Net::log_gradients(const BoundStep& step) const {
  const graph::Node& node = plan_.graph.node(step.node);
  if (is_reorder(node)) return;
  const double unit = gradient_unit();
  for (size_t i = 0; i < node.x.size(); ++i) {
    const graph::Value& value = plan_.graph.value(node.x[i]);
    if (!step.io.dx[i].data) continue;
    log_info() << "    [Backward] Layer " << node.name << ", bottom blob " << value.name
               << " diff: " << unit * mean_of_blob(context_, value, value_shape(node.x[i]), step.io.dx[i].data);
  }
  for (size_t k = 0; k < node.w.size(); ++k) {
    const float* dw = step.io.dw[k].f32();
    if (!dw) continue;
    log_info() << "    [Backward] Layer " << node.name << ", param blob " << k << " diff: "
               << unit * mean_abs(values_of(context_, dw, plan_.w_formats[size_t(node.w[k])]),
                                  step.io.w[k].shape().count());
  }
}

/// The factor that removes the loss scale of mixed precision from gradients.
double Net::gradient_unit() const {
  if (!loss_scale_) return 1;
  float scale = 1;
  copy_to_host(context_, &scale, loss_scale_, sizeof scale);
  return 1 / double(scale);
}

/// To be called before the update of the param.
void Net::add_norms(const Param& param) {
  add_to(norms_.l1_data, norms_.squares_data, values_of(context_, param.w, param.format), 1);
  add_to(norms_.l1_diff, norms_.squares_diff, values_of(context_, param.dw, param.format), gradient_unit());
}

void Net::log_norms() {
  for (size_t id = 0; id < plan_.graph.weights.size(); ++id)
    if (!plan_.graph.weights[id].learns())
      add_to(norms_.l1_data, norms_.squares_data, values_of(context_, weight(graph::WeightId(id)), plan_.w_formats[id]),
             1);
  log_info() << "    [Backward] All net params (data, diff): L1 norm = (" << norms_.l1_data << ", " << norms_.l1_diff
             << "); L2 norm = (" << std::sqrt(norms_.squares_data) << ", " << std::sqrt(norms_.squares_diff) << ")";
  norms_ = {};
}

}  // namespace cortado
