// ScaleTanH (HashNet, Cao et al. 2017): y = tanh(s x), where s grows during training, so that y approaches the signs of
// x. After n passes
//     s = init_scale (1 + gamma k)^power, with k the last multiple of step_size up to n.
// n is stored in a weight of one number that solvers do not update, so test nets and resumed runs have it; tests do not
// increment it. Formula and counting are those of HashNet's PyTorch program, by its authors. It is unknown whether
// their Caffe layer keeps n in a blob, so their weights may lack it.

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/elementwise.h"
#include "layers/common/loops/typed.h"

namespace cortado {

namespace {

/// Counts a pass in training, and computes the factor after it.
struct FindFactor {
  float *count, *factor;
  float first, step, gamma, power;
  bool counts;
  CORTADO_HD void operator()(int64_t) const {
    if (counts) *count += 1;
    *factor = first * powf(1 + gamma * floorf(*count / step) * step, power);
  }
};

template <typename T>
struct ScaleTanhForward {
  const T* x;
  T* y;
  const float* factor;
  CORTADO_HD void operator()(int64_t i) const { y[i] = tanhf(*factor * float(x[i])); }
};

template <typename T>
struct ScaleTanhBackward {
  const T *y, *dy;
  T* dx;
  const float* factor;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = float(dy[i]) * *factor * (1 - float(y[i]) * float(y[i])); }
};

class ScaleTanhLayer : public ElementwiseLayer {
 public:
  explicit ScaleTanhLayer(const LayerOptions& options)
      : options_(options.config.scale_tanh_param()), training_(options.phase == caffe::TRAIN) {
    const auto require = [](bool good, const std::string& field, float value, const std::string& what) {
      if (!good) throw FieldError("scale_tanh_param." + field, field + " is " + to_text(value) + ", but " + what);
    };
    require(std::isfinite(options_.init_scale()), "init_scale", options_.init_scale(), "must be a finite number");
    require(options_.gamma() >= 0 && std::isfinite(options_.gamma()), "gamma", options_.gamma(), "must not be below 0");
    require(std::isfinite(options_.power()), "power", options_.power(), "must be a finite number");
    if (options_.step_size() == 0)
      throw FieldError("scale_tanh_param.step_size", "step_size is 0",
                       "set the number of passes between two changes of the factor");
  }

  BackwardReads backward_reads() const override { return BackwardReads::kY; }
  bool keeps_zero() const override { return true; }

  LayerShapes infer(const std::vector<Shape>& x) override {
    LayerShapes shapes = ElementwiseLayer::infer(x);
    shapes.w.push_back({.shape = {1}, .filler = {}, .learned = false});
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    LayerNeeds needs = ElementwiseLayer::prepare(request, context);
    needs.saved = {sizeof(float)};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, 1,
             FindFactor{io.w[0].f32(), factor(io), options_.init_scale(), float(options_.step_size()), options_.gamma(),
                        options_.power(), training_});
    for_each_typed<ScaleTanhForward>(context, io.x[0], io.y[0], factor(io));
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) for_each_typed<ScaleTanhBackward>(context, io.y[0], io.dy[0], io.dx[0], factor(io));
  }

 private:
  static float* factor(const Operands& io) { return static_cast<float*>(io.saved[0]); }

  const caffe::ScaleTanHParameter& options_;
  bool training_;
};

const RegisterLayer register_scale_tanh(elementwise_type<ScaleTanhLayer>("ScaleTanH",
                                                                         "tanh that becomes steeper during training",
                                                                         "scale_tanh_param"));

}  // namespace

}  // namespace cortado
