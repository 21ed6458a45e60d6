// Clip: y = min(max(x, min), max). The gradient passes if min <= x <= max, inclusive. y does not determine whether x is
// a bound, so backward reads x. It runs in padded blocks if min <= 0 <= max, because then 0 stays 0.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

template <typename T>
struct ClipForward {
  const T* x;
  T* y;
  float min, max;
  using Arrays = ByPacks<In<&ClipForward::x>, Out<&ClipForward::y>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = v < min ? min : v > max ? max : v;
  }
};

template <typename T>
struct ClipBackward {
  const T* x;
  const T* dy;
  T* dx;
  float min, max;
  using Arrays = ByPacks<In<&ClipBackward::x>, In<&ClipBackward::dy>, Out<&ClipBackward::dx>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i], d = dy[i];
    dx[i] = v >= min && v <= max ? d : 0;
  }
};

class ClipLayer : public ElementwiseLayer {
 public:
  explicit ClipLayer(const LayerOptions& options)
      : min_(options.config.clip_param().min()), max_(options.config.clip_param().max()) {
    const caffe::ClipParameter& param = options.config.clip_param();
    if (!param.has_min() || !param.has_max())
      throw FieldError("clip_param", std::string(param.has_min() ? "max" : "min") + " is missing", "set both bounds");
    if (!(min_ <= max_))
      throw FieldError("clip_param.min", "min is " + to_text(min_) + ", not below max, " + to_text(max_));
  }

  BackwardReads backward_reads() const override { return BackwardReads::kX; }
  bool keeps_zero() const override { return min_ <= 0 && max_ >= 0; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<ClipForward>(context, io.x[0], io.y[0], min_, max_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<ClipBackward>(context, io.x[0], io.dy[0], io.dx[0], min_, max_);
  }

 private:
  float min_, max_;
};

const RegisterLayer register_clip(elementwise_type<ClipLayer>("Clip", "x limited to an interval", "clip_param",
                                                              LayerFamily::kOther));

}  // namespace

}  // namespace cortado
