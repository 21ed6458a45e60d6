// Power: y = (shift + scale x)^power. dx = dy scale power (shift + scale x)^(power - 1).
//
// Where scale power is 0, y is a constant and dx is 0, whatever x holds, as in Caffe: no NaN comes from 0^0 or 0 * Inf.
// Caffe computes the slope as y / (shift + scale x), which is NaN at 0; here it is computed as a power.
// It runs on padded blocks where f(0) = 0 and the slope at 0 is finite: shift = 0 and power >= 1.

#include <cmath>

#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

/// base^power. The branches do not depend on the element, so the compiler hoists them out of the loop.
CORTADO_HD inline float raise(float base, float power) {
  if (power == 0) return 1;
  if (power == 1) return base;
  if (power == 2) return base * base;
  return powf(base, power);
}

template <typename T>
struct PowerForward {
  const T* x;
  T* y;
  float power, scale, shift;
  using Arrays = ByPacks<In<&PowerForward::x>, Out<&PowerForward::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = raise(shift + scale * x[i], power); }
};

template <typename T>
struct PowerBackward {
  const T* x;
  const T* dy;
  T* dx;
  float power, scale, shift;
  using Arrays = ByPacks<In<&PowerBackward::x>, In<&PowerBackward::dy>, Out<&PowerBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    dx[i] = dy[i] * (power * scale * raise(shift + scale * x[i], power - 1));
  }
};

template <typename T>
struct BackwardLinear {
  const T* dy;
  T* dx;
  float scale;
  using Arrays = ByPacks<In<&BackwardLinear::dy>, Out<&BackwardLinear::dx>>;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[i] * scale; }
};

class PowerLayer : public ElementwiseLayer {
 public:
  explicit PowerLayer(const LayerOptions& options)
      : power_(options.config.power_param().power()),
        scale_(options.config.power_param().scale()),
        shift_(options.config.power_param().shift()) {}

  BackwardReads backward_reads() const override {
    return constant() || linear() ? BackwardReads::kNeither : BackwardReads::kX;
  }
  bool keeps_zero() const override { return shift_ == 0 && power_ >= 1; }

  void forward(Context& context, const Operands& io) override {
    if (constant()) return for_each_typed<Constant>(context, io.y[0], raise(shift_, power_));
    for_each_typed<PowerForward>(context, io.x[0], io.y[0], power_, scale_, shift_);
  }

  void backward(Context& context, const Operands& io) override {
    if (constant()) return for_each_typed<Constant>(context, io.dx[0], 0.0f);
    if (linear()) return for_each_typed<BackwardLinear>(context, io.dy[0], io.dx[0], scale_);
    for_each_typed<PowerBackward>(context, io.x[0], io.dy[0], io.dx[0], power_, scale_, shift_);
  }

 private:
  bool constant() const { return power_ * scale_ == 0; }
  bool linear() const { return power_ == 1; }

  float power_, scale_, shift_;
};

const RegisterLayer register_power(elementwise_type<PowerLayer>("Power", "(shift + scale x) to a power", "power_param",
                                                                LayerFamily::kOther));

}  // namespace

}  // namespace cortado
