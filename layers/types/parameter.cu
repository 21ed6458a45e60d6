// Parameter: y is a learned weight of shape parameter_param.shape. It is initialized to zeros, as in Caffe, or with
// blob_filler, unless weights are loaded. With a bottom, which Caffe does not have, y repeats the weight for each of
// the bottom's samples: a class token. The bottom's values are not read. dw is the sum over the samples.

#include <algorithm>

#include "layers/common/loops/row_moments.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct ParameterForward {
  T* y;
  const float* w;
  int64_t width;
  CORTADO_HD void operator()(int64_t i) const { y[i] = w[i % width]; }
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

  LayerShapes infer(const std::vector<Shape>& x) override {
    const Shape shape = shape_of(param_.shape(), "parameter_param.shape");
    LayerShapes shapes{.y = {shape}, .w = {filled_weight(param_.blob_filler(), shape, "parameter_param.blob_filler")}};
    width_ = shape.count();
    samples_ = 1;
    if (x.empty()) return shapes;
    require_axes(x[0], 1);
    samples_ = x[0][0];
    std::vector<int64_t> dims = shape.dims();
    dims.insert(dims.begin(), samples_);
    shapes.y = {Shape(dims)};
    count_of_elements(shapes.y[0], "parameter_param.shape");
    return shapes;
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kMakes}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    if (samples_ != 1) needs.backward_scratch = sum_of_columns_scratch(samples_, width_);
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_typed<ParameterForward>(context, io.y[0], io.w[0].f32(), std::max<int64_t>(1, width_));
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dw[0]) return;
    if (samples_ == 1) return for_each_typed<ParameterBackward>(context, io.dy[0], io.dw[0].f32(), io.adds(0));
    sum_of_columns<RowValue>(context, samples_, width_, static_cast<float*>(io.scratch), io.dw[0].f32(), io.adds(0),
                             io.dy[0], width_, 1.0f);
  }

  bool differentiable(int) const override { return false; }

 private:
  const caffe::ParameterParameter& param_;
  int64_t width_ = 0, samples_ = 1;
};

const RegisterLayer register_parameter({
    .name = "Parameter",
    .help = "a learned weight as a blob, or repeated for each sample of a bottom",
    .options = "parameter_param",
    .min_bottoms = 0,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ParameterLayer>,
    .kind = LayerKind::kConstant,
});

}  // namespace

}  // namespace cortado
