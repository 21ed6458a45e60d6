// Threshold: y = 1 where x > threshold, else 0 (also for NaN). It has no gradient.
// It runs in padded blocks where 0 stays 0: threshold >= 0.

#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  float threshold;
  CORTADO_HD void operator()(int64_t i) const { y[i] = float(x[i]) > threshold ? 1.0f : 0.0f; }
};

class ThresholdLayer : public Layer {
 public:
  explicit ThresholdLayer(const LayerOptions& options) : threshold_(options.config.threshold_param().threshold()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  LayoutRule layouts() const override {
    return threshold_ >= 0 || fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain;
  }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.y_may_overwrite_x = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0], threshold_);
  }

  bool differentiable(int) const override { return false; }

 private:
  float threshold_;
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "Threshold",
    .help = "1 above a threshold, else 0",
    .options = "threshold_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<ThresholdLayer>,
});

}  // namespace

}  // namespace cortado
