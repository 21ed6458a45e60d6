// Swish: y = x s with s = 1 / (1 + e^(-beta x)). beta is an option, not learned. dx = dy s (1 + beta x (1 - s)).

#include <cmath>

#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

CORTADO_HD inline float sigmoid(float v) { return 1 / (1 + expf(-v)); }

template <typename T>
struct SwishForward {
  const T* x;
  T* y;
  float beta;
  using Arrays = ByPacks<In<&SwishForward::x>, Out<&SwishForward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = x[i] * sigmoid(beta * x[i]); }
};

template <typename T>
struct SwishBackward {
  const T* x;
  const T* dy;
  T* dx;
  float beta;
  using Arrays = ByPacks<In<&SwishBackward::x>, In<&SwishBackward::dy>, Out<&SwishBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = beta * x[i], s = sigmoid(v);
    dx[i] = dy[i] * s * (1 + v * (1 - s));
  }
};

class SwishLayer : public ElementwiseLayer {
 public:
  explicit SwishLayer(const LayerOptions& options) : beta_(options.config.swish_param().beta()) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return true; }
  std::optional<kernels::PostOp> as_post_op() const override {
    if (beta_ != 1) return std::nullopt;
    return kernels::Activation{kernels::Activation::kSwish};
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<SwishForward>(context, io.x[0], io.y[0], beta_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<SwishBackward>(context, io.x[0], io.dy[0], io.dx[0], beta_);
  }

 private:
  float beta_;
};

const RegisterLayer register_swish(elementwise_type<SwishLayer>("Swish", "x times the sigmoid of beta x",
                                                                "swish_param"));

}  // namespace

}  // namespace cortado
