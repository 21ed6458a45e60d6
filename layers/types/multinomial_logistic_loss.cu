// MultinomialLogisticLoss: y = -sum of log(max(p, 1e-20)) / N, where p is the probability in x of an item's label and N
// the extent of axis 0 alone. The classes are all elements of an item; x is not normalized.
// dx = -dy / (N max(p, 1e-20)) at the label and 0 elsewhere: below the floor the slope is that at the floor.

#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

CORTADO_HD inline float floored(float p) { return p < 1e-20f ? 1e-20f : p; }

template <typename T>
struct MultinomialLogisticLossItemLoss {
  const T* p;
  ClassLabels labels;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t item) const {
    if (!labels.valid(item)) return NAN;
    return -scale * logf(floored(p[item * labels.classes + int64_t(labels.values[item])]));
  }
};

template <typename T>
struct MultinomialLogisticLossBackward {
  const T* p;
  T* dp;
  ClassLabels labels;
  const float* dy;  ///< one value
  float scale;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t item = i / labels.classes;
    const bool is_label = labels.values[item] == float(i - item * labels.classes);
    dp[i] = is_label ? -dy[0] * scale / floored(p[i]) : 0;
  }
};

class MultinomialLogisticLossLayer : public ClassLossLayer {
 public:
  explicit MultinomialLogisticLossLayer(const LayerOptions&) {}

  void forward(Context& context, const Operands& io) override {
    const ClassLabels labels = labels_of(io);
    const auto sum = [&](const auto& loss) { reduce_rows(context, 1, items(), loss, io.y[0].f32()); };
    with_functor<MultinomialLogisticLossItemLoss>(sum, io.x[0], labels, scale());
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_typed<MultinomialLogisticLossBackward>(context, io.x[0], io.dx[0], labels_of(io), io.dy[0].f32(),
                                                      scale());
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 2 * items(); }
};

const RegisterLayer register_multinomial_logistic_loss({
    .name = "MultinomialLogisticLoss",
    .help = "the negative log-likelihood of the labels, from probabilities",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MultinomialLogisticLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
