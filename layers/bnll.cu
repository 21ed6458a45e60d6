// BNLL: y = ln(1 + e^x), written so that e^x does not overflow. The slope is 1 / (1 + e^-x) = 1 - e^-y: backward reads
// y, and forward may write over x. f(0) is not 0, so it runs in blocks of 16 channels only where no lane is padding.

#include <cmath>

#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = (v > 0 ? v : 0) + log1pf(expf(-fabsf(v)));
  }
};

template <typename T>
struct Backward {
  const T* y;
  const T* dy;
  T* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * -expm1f(-y[i]); }
};

class BnllLayer : public Layer {
 public:
  explicit BnllLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  LayoutRule layouts() const override { return fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain; }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_y = {true};
    needs.y_may_overwrite_x = true;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override { for_each_typed<Forward>(context, io.x[0], io.y[0]); }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.y[0], io.dy[0], io.dx[0]);
  }

 private:
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "BNLL",
    .help = "ln(1 + e^x)",
    .options = "",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<BnllLayer>,
});

}  // namespace

}  // namespace cortado
