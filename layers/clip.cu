// Clip: y = x, but not below `min` nor above `max`. The gradient passes where min <= x <= max, the bounds included,
// which y cannot tell: backward reads x. It runs in padded blocks where 0 stays 0: min <= 0 <= max.

#include "core/error.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"
#include "layers/words.h"

namespace cortado {

namespace {

template <typename T>
struct Forward {
  const T* x;
  T* y;
  float min, max;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i];
    y[i] = v < min ? min : v > max ? max : v;
  }
};

template <typename T>
struct Backward {
  const T* x;
  const T* dy;
  T* dx;
  float min, max;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = x[i], d = dy[i];
    dx[i] = v >= min && v <= max ? d : 0;
  }
};

class ClipLayer : public Layer {
 public:
  explicit ClipLayer(const LayerOptions& options)
      : min_(options.config.clip_param().min()), max_(options.config.clip_param().max()) {
    const caffe::ClipParameter& param = options.config.clip_param();
    if (!param.has_min() || !param.has_max())
      throw FieldError("clip_param", std::string(param.has_min() ? "max" : "min") + " is missing",
                       "both bounds must be given");
    if (!(min_ <= max_))
      throw FieldError("clip_param.min", "min is " + text_of(min_) + ", not below max, " + text_of(max_));
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    fills_blocks_ = fills_blocks(x[0]);
    return {.y = {x[0]}, .w = {}};
  }

  LayoutRule layouts() const override {
    const bool keeps_zero = min_ <= 0 && max_ >= 0;
    return keeps_zero || fills_blocks_ ? LayoutRule::kFollow : LayoutRule::kPlain;
  }
  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true};
    needs.y_may_overwrite_x = !request.backward;
    needs.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<Forward>(context, io.x[0], io.y[0], min_, max_);
  }

  void backward(Context& context, const Operands& io) override {
    for_each_typed<Backward>(context, io.x[0], io.dy[0], io.dx[0], min_, max_);
  }

 private:
  float min_, max_;
  bool fills_blocks_ = false;
};

const RegisterLayer registered({
    .name = "Clip",
    .help = "x within two bounds",
    .options = "clip_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<ClipLayer>,
});

}  // namespace

}  // namespace cortado
