// SigmoidCrossEntropyLoss: y = -sum of t log(s) + (1 - t) log(1 - s) over all elements, s = sigmoid(x), divided by a
// normalizer; dx = dy (s - t) / normalizer. It is computed as max(x, 0) - t x + log(1 + e^-|x|), which does not
// overflow.
//
// The normalizer is the number of elements (FULL), of those with a target that is not ignored (VALID), the extent of
// axis 0 (BATCH_SIZE) or 1 (NONE), but at least 1. Unlike in SoftmaxWithLoss the default is BATCH_SIZE. A target is
// truncated for the comparison with ignore_label.

#include <cmath>

#include "core/device/device_memory.h"
#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/losses/loss_normalizer.h"
#include "layers/common/shape_rules.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct SigmoidCrossEntropyLossTargets {
  const float* values;
  bool ignores;
  float ignored;
  CORTADO_HD bool counts(int64_t i) const { return !(ignores && truncf(values[i]) == ignored); }
};

template <typename T>
struct ElementLoss {
  const T* x;
  SigmoidCrossEntropyLossTargets targets;
  int64_t width;  ///< elements of one item
  CORTADO_HD float operator()(int64_t item, int64_t k) const {
    const int64_t i = item * width + k;
    if (!targets.counts(i)) return 0;
    const float v = x[i];
    return (v < 0 ? 0 : v) - targets.values[i] * v + log1pf(expf(-fabsf(v)));
  }
};

struct Counted {
  SigmoidCrossEntropyLossTargets targets;
  int64_t width;
  CORTADO_HD float operator()(int64_t item, int64_t k) const { return targets.counts(item * width + k) ? 1 : 0; }
};

/// The sums over items: row 0 of the losses, row 1 of the elements that count.
struct SumTerm {
  const float *losses, *counts;
  CORTADO_HD float operator()(int64_t k, int64_t item) const { return k == 0 ? losses[item] : counts[item]; }
};

template <typename T>
struct SigmoidCrossEntropyLossBackward {
  const T* x;
  T* dx;
  SigmoidCrossEntropyLossTargets targets;
  const float *dy, *normalizer;  ///< one value each
  CORTADO_HD void operator()(int64_t i) const {
    const float s = 1 / (1 + expf(-float(x[i])));
    dx[i] = targets.counts(i) ? (s - targets.values[i]) * (dy[0] / normalizer[0]) : 0;
  }
};

class SigmoidCrossEntropyLossLayer : public Layer, public Scoring {
 public:
  explicit SigmoidCrossEntropyLossLayer(const LayerOptions& options) : loss_(options.config.loss_param()) {
    if (loss_.label_smoothing() != 0)
      throw FieldError("loss_param.label_smoothing", "label_smoothing is not available here",
                       "smooth the targets with a Power layer before this layer");
    refuse_fields(loss_, "loss_param", {"class_weight", "class_weighting", "weight_by_label_freqs"},
                  "labels of this layer are targets, not classes");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_targets(x[0], x[1]);
    items_ = x[0][0], width_ = x[0].count(1);
    return {.y = {Shape()}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.saved = {int64_t(sizeof(float))};
    needs.forward_scratch = (2 * items_ + 2) * int64_t(sizeof(float));
    if (!request.backward) quotient_ = DeviceMemory(context, 2 * sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *losses = static_cast<float*>(io.scratch), *counts = losses + items_, *sums = counts + items_;
    const SigmoidCrossEntropyLossTargets targets = targets_of(io);
    const auto sum = [&](const auto& loss) { reduce_rows(context, items_, width_, loss, losses); };
    with_functor<ElementLoss>(sum, io.x[0], targets, width_);
    reduce_rows(context, items_, width_, Counted{targets, width_}, counts);
    reduce_rows(context, 2, items_, SumTerm{losses, counts}, sums);
    for_each(context, 1, NormalizeLoss{sums, io.y[0].f32(), normalizer(io), fixed(), quotient_data()});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_typed<SigmoidCrossEntropyLossBackward>(context, io.x[0], io.dx[0], targets_of(io), io.dy[0].f32(),
                                                      normalizer(io));
  }

  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t) const override {
    return quotient_.data() ? loss_quotient(loss_, caffe::LossParameter::BATCH_SIZE, fixed(), quotient_data())
                            : Ratio();
  }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }

 private:
  static float* normalizer(const Operands& io) { return static_cast<float*>(io.saved[0]); }
  float fixed() const { return fixed_normalizer(loss_, caffe::LossParameter::BATCH_SIZE, items_ * width_, items_); }
  float* quotient_data() const { return reinterpret_cast<float*>(quotient_.data()); }
  SigmoidCrossEntropyLossTargets targets_of(const Operands& io) const {
    return {io.x[1].f32(), loss_.has_ignore_label(), float(loss_.ignore_label())};
  }

  const caffe::LossParameter& loss_;
  int64_t items_ = 0, width_ = 0;
  DeviceMemory quotient_;  ///< the loss's sums, without backward
};

const RegisterLayer register_sigmoid_cross_entropy_loss({
    .name = "SigmoidCrossEntropyLoss",
    .help = "sigmoid and the cross-entropy with targets, for each element",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SigmoidCrossEntropyLossLayer>,
    .loss = LossRole{.answer = "Sigmoid"},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
