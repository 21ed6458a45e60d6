// InnerDistance (NormFace, Wang et al. 2017): distances to the rows of a matrix. x is N samples of K numbers from
// `axis` on, w is C x K: a learned weight, or the second bottom. y, N x C, is the sum over k of (x - w)^2, or with
// distance_type L1 of |x - w|, plus a learned bias per row with bias_term. Both x and w get gradients:
//   L2: dx = sum over rows of 2 dy (x - w);  L1: of dy sign(x - w);  dw is minus the same, summed over samples

#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/common/needs.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Distances {
  const float *x, *w;
  int64_t classes, width;
  bool squares;
  CORTADO_HD float difference(int64_t n, int64_t c, int64_t k) const { return x[n * width + k] - w[c * width + k]; }
  CORTADO_HD float slope(float d) const { return squares ? 2 * d : d > 0 ? 1 : d < 0 ? -1 : 0; }
};

/// For reduce_rows: the terms of y.
struct DistanceTerm {
  Distances of;
  CORTADO_HD float operator()(int64_t r, int64_t k) const {
    const float d = of.difference(r / of.classes, r % of.classes, k);
    return of.squares ? d * d : fabsf(d);
  }
};

/// For reduce_rows: the terms of dx, one for each row of w.
struct DistanceOfX {
  Distances of;
  const float* dy;
  CORTADO_HD float operator()(int64_t i, int64_t c) const {
    const int64_t n = i / of.width;
    return dy[n * of.classes + c] * of.slope(of.difference(n, c, i % of.width));
  }
};

/// For reduce_rows: the terms of dw, one for each sample.
struct DistanceOfW {
  Distances of;
  const float* dy;
  CORTADO_HD float operator()(int64_t i, int64_t n) const {
    const int64_t c = i / of.width;
    return -dy[n * of.classes + c] * of.slope(of.difference(n, c, i % of.width));
  }
};

struct AddDistanceBias {
  float* y;
  const float* bias;
  int64_t classes;
  CORTADO_HD void operator()(int64_t i) const { y[i] += bias[i % classes]; }
};

struct DistanceOfBias {
  const float* dy;
  int64_t classes;
  CORTADO_HD float operator()(int64_t c, int64_t n) const { return dy[n * classes + c]; }
};

class InnerDistanceLayer : public Layer {
 public:
  explicit InnerDistanceLayer(const LayerOptions& options)
      : param_(options.config.inner_distance_param()), learns_(options.config.bottom_size() < 2) {
    const std::string field = "inner_distance_param.";
    if (param_.distance_type() != "L2" && param_.distance_type() != "L1")
      throw FieldError(field + "distance_type", "it is '" + param_.distance_type() + "', but must be L2 or L1");
    if (param_.transpose()) throw FieldError(field + "transpose", "a transposed matrix is not supported");
    if (param_.normalize())
      throw FieldError(field + "normalize", "normalising the matrix is not supported",
                       "use a Parameter and a Normalize layer as the second bottom");
    if (learns_ && param_.num_output() == 0)
      throw FieldError(field + "num_output", "it is 0", "set the number of rows, or use the matrix as a second bottom");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], param_.axis(), "inner_distance_param.axis");
    samples_ = x[0].count(0, axis), width_ = x[0].count(axis);
    classes_ = learns_ ? int64_t(param_.num_output()) : x[1].axes() > 0 ? x[1][0] : 0;
    if (!learns_ && (x[1].axes() < 1 || x[1].count(1) != width_))
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but must be C x " + std::to_string(width_),
                       "each row needs as many numbers as a sample of bottom[0]");
    if (!learns_ && param_.num_output() != 0 && int64_t(param_.num_output()) != classes_)
      throw FieldError(
          "inner_distance_param.num_output",
          "it is " + std::to_string(param_.num_output()) + ", but bottom[1] has " + std::to_string(classes_) + " rows");
    std::vector<int64_t> y(x[0].dims().begin(), x[0].dims().begin() + axis);
    y.push_back(classes_);
    LayerShapes shapes{.y = {Shape(y)}, .w = {}};
    if (learns_)
      shapes.w.push_back(
          filled_weight(param_.weight_filler(), {classes_, width_}, "inner_distance_param.weight_filler"));
    if (param_.bias_term())
      shapes.w.push_back(filled_weight(param_.bias_filler(), {classes_}, "inner_distance_param.bias_filler"));
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override { return needs_of_all_x(request); }

  void forward(Context& context, const Operands& io) override {
    reduce_rows(context, samples_ * classes_, width_, DistanceTerm{distances(io)}, io.y[0].f32());
    if (param_.bias_term())
      for_each(context, samples_ * classes_, AddDistanceBias{io.y[0].f32(), io.w[bias()].f32(), classes_});
  }

  void backward(Context& context, const Operands& io) override {
    const Distances of = distances(io);
    const float* dy = io.dy[0].f32();
    if (io.dx[0]) reduce_rows(context, samples_ * width_, classes_, DistanceOfX{of, dy}, io.dx[0].f32());
    const Tensor& dw = learns_ ? io.dw[0] : io.dx[1];
    if (dw) reduce_rows(context, classes_ * width_, samples_, DistanceOfW{of, dy}, dw.f32(), learns_ && io.adds(0));
    if (param_.bias_term() && io.dw[bias()])
      reduce_rows(context, classes_, samples_, DistanceOfBias{dy, classes_}, io.dw[bias()].f32(), io.adds(int(bias())));
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * samples_ * classes_ * width_;
  }

 private:
  size_t bias() const { return learns_ ? 1 : 0; }
  Distances distances(const Operands& io) const {
    return {io.x[0].f32(), learns_ ? io.w[0].f32() : io.x[1].f32(), classes_, width_, param_.distance_type() == "L2"};
  }

  const caffe::InnerDistanceParameter& param_;
  bool learns_;
  int64_t samples_ = 0, classes_ = 0, width_ = 0;
};

const RegisterLayer register_inner_distance({
    .name = "InnerDistance",
    .help = "distances to the rows of a matrix (NormFace)",
    .options = "inner_distance_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<InnerDistanceLayer>,
    .family = LayerFamily::kDense,
});

}  // namespace

}  // namespace cortado
