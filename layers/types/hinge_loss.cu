// HingeLoss: with m = max(0, 1 - x) for an item's class and m = max(0, 1 + x) for the others, y = sum of m / N (L1) or
// sum of m^2 / N (L2), with N the extent of axis 0. The classes are all elements of an item.

#include "layers/common/loops/typed.h"
#include "layers/common/losses/class_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// The factor of x in m.
CORTADO_HD inline float sign_of(const ClassLabels& labels, int64_t item, int64_t c) {
  return labels.values[item] == float(c) ? -1.0f : 1.0f;
}

CORTADO_HD inline float margin_of(float x, float sign) {
  const float margin = 1 + sign * x;
  return margin < 0 ? 0 : margin;  // keeps NaN
}

template <typename T>
struct HingeLossItemLoss {
  const T* x;
  ClassLabels labels;
  bool squares;
  CORTADO_HD float operator()(int64_t item, int64_t c) const {
    if (!labels.valid(item)) return NAN;
    const float margin = margin_of(x[item * labels.classes + c], sign_of(labels, item, c));
    return squares ? margin * margin : margin;
  }
};

struct HingeLossScaled {
  const float* x;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return scale * x[i]; }
};

template <typename T>
struct HingeLossBackward {
  const T* x;
  T* dx;
  ClassLabels labels;
  bool squares;
  const float* dy;  ///< one value
  float scale;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t item = i / labels.classes;
    const float sign = sign_of(labels, item, i - item * labels.classes), margin = margin_of(x[i], sign);
    const float slope = squares ? 2 * margin : margin > 0 ? 1 : 0;
    dx[i] = dy[0] * scale * sign * slope;
  }
};

class HingeLossLayer : public ClassLossLayer {
 public:
  explicit HingeLossLayer(const LayerOptions& options)
      : squares_(options.config.hinge_loss_param().norm() == caffe::HingeLossParameter::L2) {}

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    LayerNeeds needs = ClassLossLayer::prepare(request, context);
    needs.forward_scratch = items() * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const ClassLabels labels = labels_of(io);
    float* sums = static_cast<float*>(io.scratch);
    const auto sum = [&](const auto& loss) { reduce_rows(context, items(), classes(), loss, sums); };
    with_functor<HingeLossItemLoss>(sum, io.x[0], labels, squares_);
    reduce_rows(context, 1, items(), HingeLossScaled{sums, scale()}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_typed<HingeLossBackward>(context, io.x[0], io.dx[0], labels_of(io), squares_, io.dy[0].f32(), scale());
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 3 * x[0].count(); }

 private:
  bool squares_;
};

const RegisterLayer register_hinge_loss({
    .name = "HingeLoss",
    .help = "one-versus-all hinge loss of class scores",
    .options = "hinge_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<HingeLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
