// ReLU: y = max(x, 0) + slope * min(x, 0), with slope = relu_param.negative_slope. ReLU6 has a ceiling: where x reaches
// it, y is the ceiling and dx is 0.
//
// With slope >= 0, y has the sign of x, so backward reads y and forward may overwrite x. With a negative slope y does
// not determine the sign, so backward reads x. NaN is propagated, so that a net that diverges reports it. Negative
// inputs yield +0, never -0.

#include "layers/common/loops/typed.h"
#include "layers/types/relu.h"

namespace cortado {

namespace {

template <typename T>
struct ReluForward {
  const T* x;
  T* y;
  float slope, ceiling;
  using Arrays = ByPacks<In<&ReluForward::x>, Out<&ReluForward::y>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = (v < 0 ? 0 : v > ceiling ? ceiling : v) + slope * (v < 0 ? v : 0);
  }
};

template <typename T>
struct ReluBackward {
  const T* side;  ///< x, or a y with the same sign
  const T* dy;
  T* dx;
  float slope, ceiling;
  using Arrays = ByPacks<In<&ReluBackward::side>, In<&ReluBackward::dy>, Out<&ReluBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = side[i];
    dx[i] = dy[i] * (v >= ceiling ? 0 : v > 0 ? 1 : slope);
  }
};

const RegisterLayer register_relu(elementwise_type<ReluLayer>("ReLU", "max(x, 0), or a small slope below 0",
                                                              "relu_param"));

}  // namespace

ReluLayer::ReluLayer(const LayerOptions& options, float ceiling)
    : negative_slope_(options.config.relu_param().negative_slope()), ceiling_(ceiling) {}

std::optional<kernels::PostOp> ReluLayer::as_post_op() const {
  if (negative_slope_ != 0) return std::nullopt;
  return ceiling_ < INFINITY ? kernels::Activation::clipped_relu(ceiling_) : kernels::Activation::relu();
}

void ReluLayer::forward(Context& context, const Operands& io) {
  for_each_typed<ReluForward>(context, io.x[0], io.y[0], negative_slope_, ceiling_);
}

void ReluLayer::backward(Context& context, const Operands& io) {
  const Tensor& side = backward_reads() == BackwardReads::kY ? io.y[0] : io.x[0];
  for_each_typed<ReluBackward>(context, side, io.dy[0], io.dx[0], negative_slope_, ceiling_);
}

}  // namespace cortado
