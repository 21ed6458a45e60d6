// Parameter: y is a learned weight of shape parameter_param.shape, without a bottom. It is initialized to zeros, as in
// Caffe, unless weights are loaded.

#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct ParameterForward {
  T* y;
  const float* w;
  CORTADO_HD void operator()(int64_t i) const { y[i] = w[i]; }
};

template <typename T>
struct ParameterBackward {
  const T* dy;
  float* dw;
  bool add;
  CORTADO_HD void operator()(int64_t i) const { dw[i] = float(dy[i]) + (add ? dw[i] : 0); }
};

class ParameterLayer : public Layer {
 public:
  explicit ParameterLayer(const LayerOptions& options) : param_(options.config.parameter_param()) {}

  LayerShapes infer(const std::vector<Shape>&) override {
    const Shape shape = shape_of(param_.shape(), "parameter_param.shape");
    return {.y = {shape}, .w = {{.shape = shape, .filler = {}}}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<ParameterForward>(context, io.y[0], io.w[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dw[0]) for_each_typed<ParameterBackward>(context, io.dy[0], io.dw[0].f32(), io.adds(0));
  }

 private:
  const caffe::ParameterParameter& param_;
};

const RegisterLayer register_parameter({
    .name = "Parameter",
    .help = "a learned weight as a blob",
    .options = "parameter_param",
    .min_bottoms = 0,
    .max_bottoms = 0,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ParameterLayer>,
    .kind = LayerKind::kConstant,
});

}  // namespace

}  // namespace cortado
