// MarginInnerProduct (SphereFace, Liu et al. 2017): scores of classes with an angular margin. x is N samples of K
// numbers from `axis` on, w is C x K, and v its rows divided by their norms. y is N x C:
//   x v for all classes but the label, which is the second bottom
//   (lambda x v + |x| f(c)) / (1 + lambda) for the label, c being x v / |x|
// f(cos t) = (-1)^k cos(m t) - 2 k, with t in [k pi / m, (k + 1) pi / m], continues cos(m t) monotonically; m is 1 to
// 4, by type. lambda changes from pass to pass (common/loops/pass_weight.h); it is the second top.
//
// InnerProduct with `normalize` (NormFace) is x v, without labels.
//
// Gradients are exact, also those of w, whose rows need not have norm 1. SphereFace normalises w in each pass, and
// takes the gradients of w without the margin and those of the label scaled to length 1.

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/loops/for_each.h"
#include "kernels/matmul.h"
#include "layers/common/loops/pass_weight.h"
#include "layers/common/losses/class_labels.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"
#include "layers/types/margin_inner_product.h"

namespace cortado {

namespace {

constexpr float kMarginTiny = 1e-12f;  ///< added to squared norms

/// f(c), and its slope.
struct MarginCurve {
  int m;

  CORTADO_HD int part(float c) const {
    if (m == 1) return 0;
    if (m == 2) return c >= 0 ? 0 : 1;
    if (m == 3) return c >= 0.5f ? 0 : c >= -0.5f ? 1 : 2;
    return c >= 0.70710678f ? 0 : c >= 0 ? 1 : c >= -0.70710678f ? 2 : 3;
  }
  /// cos(m t), a polynomial of c.
  CORTADO_HD float multiple(float c) const {
    const float c2 = c * c;
    return m == 1 ? c : m == 2 ? 2 * c2 - 1 : m == 3 ? (4 * c2 - 3) * c : 8 * (c2 - 1) * c2 + 1;
  }
  CORTADO_HD float multiple_slope(float c) const {
    return m == 1 ? 1 : m == 2 ? 4 * c : m == 3 ? 12 * c * c - 3 : (32 * c * c - 16) * c;
  }
  CORTADO_HD float value(float c) const {
    const int k = part(c);
    return (k % 2 == 0 ? 1.0f : -1.0f) * multiple(c) - 2 * float(k);
  }
  CORTADO_HD float slope(float c) const { return (part(c) % 2 == 0 ? 1.0f : -1.0f) * multiple_slope(c); }
};

/// For reduce_rows: the squared norms of rows.
struct SquaredRow {
  const float* x;
  int64_t width;
  CORTADO_HD float operator()(int64_t r, int64_t i) const { return x[r * width + i] * x[r * width + i]; }
};

struct MarginRoot {
  float* norms;
  CORTADO_HD void operator()(int64_t r) const { norms[r] = sqrtf(norms[r] + kMarginTiny); }
};

struct DivideRows {
  const float *w, *norms;
  float* v;
  int64_t width;
  CORTADO_HD void operator()(int64_t i) const { v[i] = w[i] / norms[i / width]; }
};

/// Replaces the score of each label.
struct MarginForward {
  float* y;
  ClassLabels labels;
  MarginCurve curve;
  const float *norms, *lambda;
  float* cosines;  ///< output, for backward: of the labels
  CORTADO_HD void operator()(int64_t n) const {
    if (!labels.valid(n)) {
      for (int64_t c = 0; c < labels.classes; ++c) y[n * labels.classes + c] = NAN;
      cosines[n] = 0;
      return;
    }
    float& score = y[n * labels.classes + labels.at(n)];
    cosines[n] = score / norms[n];
    score = (*lambda * score + norms[n] * curve.value(cosines[n])) / (1 + *lambda);
  }
};

/// The gradient of x v.
struct MarginProductGradient {
  const float* dy;
  float* g;
  ClassLabels labels;
  MarginCurve curve;
  const float *cosines, *lambda;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t n = i / labels.classes, c = i % labels.classes;
    const bool is_label = labels.values && labels.valid(n) && labels.at(n) == c;
    g[i] = dy[i] * (is_label ? (*lambda + curve.slope(cosines[n])) / (1 + *lambda) : 1);
  }
};

/// Adds the gradient by way of |x| to dx.
struct MarginNormGradient {
  const float *x, *dy, *norms, *cosines, *lambda;
  float* dx;
  ClassLabels labels;
  MarginCurve curve;
  int64_t width;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t n = i / width;
    if (!labels.valid(n)) return;
    const float c = cosines[n], slope = (curve.value(c) - c * curve.slope(c)) / (1 + *lambda);
    dx[i] += dy[n * labels.classes + labels.at(n)] * slope * x[i] / norms[n];
  }
};

/// For reduce_rows: v dv of each row.
struct MarginAlong {
  const float *v, *dv;
  int64_t width;
  CORTADO_HD float operator()(int64_t r, int64_t i) const { return v[r * width + i] * dv[r * width + i]; }
};

struct MarginWeightGradient {
  const float *v, *dv, *along, *norms;
  float* dw;
  int64_t width;
  bool adds;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t r = i / width;
    dw[i] = (dv[i] - v[i] * along[r]) / norms[r] + (adds ? dw[i] : 0);
  }
};

/// The options of either layer.
struct MarginOptions {
  std::string field;
  int64_t classes = 0, axis = 1;
  caffe::FillerParameter filler = {};
  bool labelled = false;
  MarginCurve curve = {1};
  PassWeight rule = {};
};

MarginOptions margin_options(const caffe::MarginInnerProductParameter& param) {
  const std::string field = "margin_inner_product_param";
  if (param.num_output() == 0) throw FieldError(field + ".num_output", "it is 0", "set the number of classes");
  if (param.iteration() < 0)
    throw FieldError(field + ".iteration", "it is " + std::to_string(param.iteration()) + ", but must not be below 0");
  const PassWeight rule = {param.base(), param.gamma(), param.power(), param.lambda_min(),
                           1 + float(param.iteration())};
  rule.check(field);
  return {field, param.num_output(), param.axis(), param.weight_filler(), true, {1 + int(param.type())}, rule};
}

MarginOptions margin_options(const caffe::InnerProductParameter& param) {
  const std::string field = "inner_product_param", with = "it is not supported with normalize";
  if (param.num_output() == 0) throw FieldError(field + ".num_output", "it is 0", "set the number of outputs");
  if (param.bias_term()) throw FieldError(field + ".bias_term", with, "set bias_term to false");
  if (param.transpose()) throw FieldError(field + ".transpose", with);
  if (param.relu()) throw FieldError(field + ".relu", with, "use a ReLU layer");
  return {field, param.num_output(), param.axis(), param.weight_filler()};
}

class MarginInnerProductLayer : public Layer {
 public:
  MarginInnerProductLayer(MarginOptions options, int tops) : options_(std::move(options)), tops_(tops) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], options_.axis, options_.field + ".axis");
    samples_ = x[0].count(0, axis), width_ = x[0].count(axis), classes_ = options_.classes;
    if (options_.labelled) require_labels(x[0], x[1], samples_);
    std::vector<int64_t> y(x[0].dims().begin(), x[0].dims().begin() + axis);
    y.push_back(classes_);
    LayerShapes shapes;
    shapes.y = {Shape(y)};
    if (tops_ > 1) shapes.y.push_back({1});
    shapes.w = {filled_weight(options_.filler, {classes_, width_}, options_.field + ".weight_filler")};
    return shapes;
  }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    const auto plan = [&](const kernels::GemmShape& shape) {
      return kernels::plan_matmul({.shape = shape, .count = 1, .step_a = 0, .step_b = 0, .alpha = 1}, context);
    };
    const DType f = DType::kF32;
    product_ = plan({samples_, classes_, width_, false, true, f, f, f});
    of_x_ = plan({samples_, width_, classes_, false, false, f, f, f});
    of_v_ = plan({classes_, width_, samples_, true, false, f, f, f});
    LayerNeeds needs;
    needs.backward_reads_x.assign(request.x.size(), true);
    needs.saved = {(classes_ * width_ + classes_ + 2 * samples_ + 1) * kFloatBytes};
    needs.forward_scratch = product_->scratch();
    needs.backward_scratch =
        gradient_floats() * kFloatBytes + std::max(of_x_->scratch(), of_v_->scratch()) + kScratchAlignment;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const Kept kept = kept_of(io);
    for_each(context, 1, FindPassWeight{context.pass_word(), options_.rule, kept.lambda});
    find_norms(context, io.w[0].f32(), classes_, kept.w_norms);
    find_norms(context, io.x[0].f32(), samples_, kept.x_norms);
    for_each(context, classes_ * width_, DivideRows{io.w[0].f32(), kept.w_norms, kept.v, width_});
    product_->run(context, io.x[0].data, kept.v, io.y[0].data, io.scratch);
    if (options_.labelled)
      for_each(context, samples_,
               MarginForward{io.y[0].f32(), labels(io), curve(), kept.x_norms, kept.lambda, kept.cosines});
    if (tops_ > 1) for_each(context, 1, FindPassWeight{context.pass_word(), options_.rule, io.y[1].f32()});
  }

  void backward(Context& context, const Operands& io) override {
    const Kept kept = kept_of(io);
    float *g = static_cast<float*>(io.scratch), *dv = g + samples_ * classes_, *along = dv + classes_ * width_;
    void* rest = static_cast<char*>(io.scratch) + aligned(gradient_floats() * kFloatBytes);
    for_each(context, samples_ * classes_,
             MarginProductGradient{io.dy[0].f32(), g, labels(io), curve(), kept.cosines, kept.lambda});
    if (io.dw[0]) {
      of_v_->run(context, g, io.x[0].data, dv, rest);
      reduce_rows(context, classes_, width_, MarginAlong{kept.v, dv, width_}, along);
      for_each(context, classes_ * width_,
               MarginWeightGradient{kept.v, dv, along, kept.w_norms, io.dw[0].f32(), width_, io.adds(0)});
    }
    if (!io.dx[0]) return;
    of_x_->run(context, g, kept.v, io.dx[0].data, rest);
    if (options_.labelled)
      for_each(context, samples_ * width_,
               MarginNormGradient{io.x[0].f32(), io.dy[0].f32(), kept.x_norms, kept.cosines, kept.lambda,
                                  io.dx[0].f32(), labels(io), curve(), width_});
  }

  void validate(Context& context, const Operands& io) override {
    if (options_.labelled)
      validate_labels(context, io.x[1], {nullptr, classes_}, 1, "set num_output to the number of classes");
  }
  bool differentiable(int i) const override { return i == 0; }
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * samples_ * classes_ * width_;
  }

 private:
  static constexpr int64_t kScratchAlignment = 256;

  /// What forward saves.
  struct Kept {
    float *v, *w_norms, *x_norms, *cosines, *lambda;
  };

  Kept kept_of(const Operands& io) const {
    float* v = static_cast<float*>(io.saved[0]);
    float *w_norms = v + classes_ * width_, *x_norms = w_norms + classes_, *cosines = x_norms + samples_;
    return {v, w_norms, x_norms, cosines, cosines + samples_};
  }
  static int64_t aligned(int64_t bytes) {
    return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }
  int64_t gradient_floats() const { return samples_ * classes_ + classes_ * width_ + classes_; }
  /// Without labels, values are null.
  ClassLabels labels(const Operands& io) const { return {options_.labelled ? io.x[1].f32() : nullptr, classes_}; }
  MarginCurve curve() const { return options_.curve; }

  void find_norms(Context& context, const float* x, int64_t rows, float* norms) const {
    reduce_rows(context, rows, width_, SquaredRow{x, width_}, norms);
    for_each(context, rows, MarginRoot{norms});
  }

  MarginOptions options_;
  int tops_;
  int64_t samples_ = 0, width_ = 0, classes_ = 0;
  std::unique_ptr<kernels::MatMul> product_, of_x_, of_v_;
};

std::unique_ptr<Layer> make_margin_inner_product(const LayerOptions& options) {
  return std::make_unique<MarginInnerProductLayer>(margin_options(options.config.margin_inner_product_param()),
                                                   options.config.top_size());
}

const RegisterLayer register_margin_inner_product({
    .name = "MarginInnerProduct",
    .help = "scores of classes with an angular margin (SphereFace)",
    .options = "margin_inner_product_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_margin_inner_product,
    .family = LayerFamily::kDense,
});

}  // namespace

std::unique_ptr<Layer> make_normalized_inner_product(const LayerOptions& options) {
  return std::make_unique<MarginInnerProductLayer>(margin_options(options.config.inner_product_param()), 1);
}

}  // namespace cortado
