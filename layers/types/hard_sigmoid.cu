// HardSigmoid: y = min(max(alpha x + beta, 0), 1); alpha 1/6 and beta 1/2 approximate the logistic function. dx = dy
// alpha strictly between the bounds, else 0. Backward reads x: 16-bit values close to 1 are rounded to 1, so y is not
// sufficient.

#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct HardSigmoidForward {
  const T* x;
  T* y;
  float alpha, beta;
  using Arrays = ByPacks<In<&HardSigmoidForward::x>, Out<&HardSigmoidForward::y>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = alpha * x[i] + beta;
    y[i] = v < 0 ? 0 : v > 1 ? 1 : v;
  }
};

template <typename T>
struct HardSigmoidBackward {
  const T* x;
  const T* dy;
  T* dx;
  float alpha, beta;
  using Arrays = ByPacks<In<&HardSigmoidBackward::x>, In<&HardSigmoidBackward::dy>, Out<&HardSigmoidBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = alpha * x[i] + beta;
    dx[i] = dy[i] * (v > 0 && v < 1 ? alpha : 0);
  }
};

class HardSigmoidLayer : public ElementwiseLayer {
 public:
  explicit HardSigmoidLayer(const LayerOptions& options)
      : alpha_(options.config.hard_sigmoid_param().alpha()), beta_(options.config.hard_sigmoid_param().beta()) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return beta_ <= 0; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<HardSigmoidForward>(context, io.x[0], io.y[0], alpha_, beta_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<HardSigmoidBackward>(context, io.x[0], io.dy[0], io.dx[0], alpha_, beta_);
  }

 private:
  float alpha_, beta_;
};

const RegisterLayer register_hard_sigmoid(elementwise_type<HardSigmoidLayer>("HardSigmoid",
                                                                             "alpha x + beta, limited to [0, 1]",
                                                                             "hard_sigmoid_param"));

}  // namespace

}  // namespace cortado
