// Log: y = log_base(shift + scale x) = factor ln(shift + scale x) with factor = 1 / ln base. Base -1 means e.
// dx = dy factor scale / (shift + scale x). It runs on padded blocks where f(0) = 0: shift = 1.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct LogForward {
  const T* x;
  T* y;
  float factor, scale, shift;
  using Arrays = ByPacks<In<&LogForward::x>, Out<&LogForward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = factor * logf(shift + scale * x[i]); }
};

template <typename T>
struct LogBackward {
  const T* x;
  const T* dy;
  T* dx;
  float factor, scale, shift;
  using Arrays = ByPacks<In<&LogBackward::x>, In<&LogBackward::dy>, Out<&LogBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * (factor * scale / (shift + scale * x[i])); }
};

/// 1 / ln base. Throws FieldError for an invalid base.
float factor_of_base(float base) {
  if (base == -1) return 1;
  if (!(base > 0) || base == 1 || std::isinf(base))
    throw FieldError("log_param.base", "base is " + to_text(base) + ", but must be above 0, finite and not 1",
                     "remove it, or set -1, for e");
  return 1 / std::log(base);
}

class LogLayer : public ElementwiseLayer {
 public:
  explicit LogLayer(const LayerOptions& options)
      : factor_(factor_of_base(options.config.log_param().base())),
        scale_(options.config.log_param().scale()),
        shift_(options.config.log_param().shift()) {}

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return shift_ == 1; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<LogForward>(context, io.x[0], io.y[0], factor_, scale_, shift_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<LogBackward>(context, io.x[0], io.dy[0], io.dx[0], factor_, scale_, shift_);
  }

 private:
  float factor_, scale_, shift_;
};

const RegisterLayer register_log(elementwise_type<LogLayer>("Log", "the logarithm of shift + scale x to a base",
                                                            "log_param", LayerFamily::kOther));

}  // namespace

}  // namespace cortado
