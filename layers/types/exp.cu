// Exp: y = base^(shift + scale x), computed as e^(term + factor x) with factor = scale ln base and term = shift ln
// base. Base -1 means e. dx = dy y factor, so backward reads y and forward may overwrite x. f(0) is not 0, so it runs
// in blocks of 16 channels only if no lane is padding.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct ExpForward {
  const T* x;
  T* y;
  float factor, term;
  using Arrays = ByPacks<In<&ExpForward::x>, Out<&ExpForward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = expf(term + factor * x[i]); }
};

template <typename T>
struct ExpBackward {
  const T* y;
  const T* dy;
  T* dx;
  float factor;
  using Arrays = ByPacks<In<&ExpBackward::y>, In<&ExpBackward::dy>, Out<&ExpBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * y[i] * factor; }
};

/// ln base. Throws FieldError if it is not defined.
float log_of_base(float base) {
  if (base == -1) return 1;
  if (!(base > 0) || std::isinf(base))
    throw FieldError("exp_param.base", "base is " + to_text(base) + ", but must be above 0 and finite",
                     "remove it, or set -1, for e");
  return std::log(base);
}

class ExpLayer : public ElementwiseLayer {
 public:
  explicit ExpLayer(const LayerOptions& options) {
    const caffe::ExpParameter& param = options.config.exp_param();
    const float log_base = log_of_base(param.base());
    factor_ = param.scale() * log_base;
    term_ = param.shift() * log_base;
  }

  BackwardReads backward_reads() const override { return BackwardReads::kY; }
  bool keeps_zero() const override { return false; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<ExpForward>(context, io.x[0], io.y[0], factor_, term_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<ExpBackward>(context, io.y[0], io.dy[0], io.dx[0], factor_);
  }

 private:
  float factor_, term_;
};

const RegisterLayer register_exp(elementwise_type<ExpLayer>("Exp", "a base to the power of shift + scale x",
                                                            "exp_param", LayerFamily::kOther));

}  // namespace

}  // namespace cortado
