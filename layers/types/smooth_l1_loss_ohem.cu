// SmoothL1LossOHEM (R-FCN): y = sum of f(w (x0 - x1)) / normalizer, with
//   f(d) = d^2 / 2 where |d| < 1, else |d| - 1/2
// and a second top with the sum of f over the channels of each region, from which BoxAnnotatorOHEM selects the hardest
// ones. A third bottom holds w for each element; without it w = 1. Regions are axis 0, channels axis 1; all later axes
// are positions with separate losses.
//
// The normalizer is loss_param's, but at least 1. FULL and VALID are the number of regions times that of positions,
// BATCH_SIZE that of regions, NONE 1, PRE_FIXED pre_fixed_normalizer; other fields of loss_param are not read. Both x0
// and x1 get gradients, which are exact. R-FCN omits the factor w, which makes no difference for its weights of 0 and
// 1. The gradient of the second top is propagated, unlike in R-FCN.

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/loss_normalizer.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct Difference {
  const T* a;
  const float *b, *weights;  ///< weights null: 1
  CORTADO_HD float weight(int64_t i) const { return weights ? weights[i] : 1; }
  CORTADO_HD float at(int64_t i) const { return weight(i) * (a[i] - b[i]); }
  CORTADO_HD float loss(int64_t i) const {
    const float d = at(i), size = fabsf(d);
    return size < 1 ? 0.5f * d * d : size - 0.5f;
  }
  CORTADO_HD float slope(int64_t i) const { return weight(i) * fminf(fmaxf(at(i), -1), 1); }
};

/// The loss of a position of a region.
template <typename T>
struct SmoothL1RowLoss {
  Difference<T> difference;
  float* losses;
  int64_t channels, places;
  CORTADO_HD void operator()(int64_t row) const {
    const int64_t first = row / places * channels * places + row % places;
    float sum = 0;
    for (int64_t c = 0; c < channels; ++c) sum += difference.loss(first + c * places);
    losses[row] = sum;
  }
};

struct ScaledLoss {
  const float* losses;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t row) const { return scale * losses[row]; }
};

/// The gradient of either bottom: D is T for a and float for b.
template <typename T, typename D>
struct SmoothL1LossOhemBackward {
  Difference<T> difference;
  D* dx;
  const float *dy, *dlosses;  ///< of y and of the rows' losses; null if they do not arrive
  float scale, sign;
  int64_t channels, places;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t row = i / (channels * places) * places + i % places;
    const float arrives = (dy ? dy[0] * scale : 0) + (dlosses ? dlosses[row] : 0);
    dx[i] = sign * arrives * difference.slope(i);
  }
};

class SmoothL1LossOhemLayer : public Layer, public Scoring {
 public:
  explicit SmoothL1LossOhemLayer(const LayerOptions& options)
      : loss_(options.config.loss_param()), shows_losses_(options.config.top_size() > 1) {
    if (const float sigma = options.config.smooth_l1_loss_param().sigma(); sigma != 1)
      throw FieldError("smooth_l1_loss_param.sigma", "it is " + to_text(sigma) + ", but must be 1 in this layer",
                       "use SmoothL1Loss for another sigma");
    if (loss_.has_pre_fixed_normalizer() && !std::isfinite(loss_.pre_fixed_normalizer()))
      throw FieldError("loss_param.pre_fixed_normalizer", "it is " + to_text(loss_.pre_fixed_normalizer()),
                       "set the divisor of the sum of losses");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    for (size_t i = 1; i < x.size(); ++i)
      if (x[i].axes() < 1 || x[i][0] != x[0][0] || x[i].count(1) != x[0].count(1))
        throw FieldError(entry("bottom", int64_t(i)),
                         "its shape is " + x[i].str() + ", but bottom[0] has " + x[0].str(),
                         "all bottoms need the same number of regions (axis 0) of the same size");
    regions_ = x[0][0], channels_ = x[0][1], places_ = x[0].count(2);
    Shape losses = x[0];
    losses[1] = 1;
    return {.y = shows_losses_ ? std::vector<Shape>{Shape(), losses} : std::vector<Shape>{Shape()}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x.assign(request.x.size(), true);
    needs.forward_scratch = shows_losses_ ? 0 : rows() * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float* losses = shows_losses_ ? io.y[1].f32() : static_cast<float*>(io.scratch);
    with_float_type(io.x[0].spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_each(context, rows(), SmoothL1RowLoss<T>{difference<T>(io), losses, channels_, places_});
    });
    reduce_rows(context, 1, rows(), ScaledLoss{losses, 1 / normalizer()}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    with_float_type(io.x[0].spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (io.dx[0]) write_gradient<T>(context, io, io.dx[0].as<T>(), 1);
      if (io.dx[1]) write_gradient<T>(context, io, io.dx[1].f32(), -1);
    });
  }

  bool differentiable(int i) const override { return i < 2; }
  Ratio quotient(size_t k) const override {
    if (k > 0) return {};
    return loss_quotient(loss_, caffe::LossParameter::VALID, normalizer(), nullptr);
  }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 3 * x[0].count(); }

 private:
  int64_t rows() const { return regions_ * places_; }
  float normalizer() const {
    return std::max(1.0f, fixed_normalizer(loss_, caffe::LossParameter::VALID, rows(), regions_, float(rows())));
  }

  template <typename T>
  static Difference<T> difference(const Operands& io) {
    return {io.x[0].as<T>(), io.x[1].f32(), io.x.size() > 2 ? io.x[2].f32() : nullptr};
  }

  template <typename T, typename D>
  void write_gradient(Context& context, const Operands& io, D* dx, float sign) const {
    const float* dlosses = shows_losses_ ? io.dy[1].f32() : nullptr;
    for_each(context, io.x[0].count(),
             SmoothL1LossOhemBackward<T, D>{difference<T>(io), dx, io.dy[0].f32(), dlosses, 1 / normalizer(), sign,
                                            channels_, places_});
  }

  const caffe::LossParameter& loss_;
  bool shows_losses_;
  int64_t regions_ = 0, channels_ = 0, places_ = 1;
};

const RegisterLayer register_smooth_l1_loss_ohem({
    .name = "SmoothL1LossOHEM",
    .help = "SmoothL1Loss with the loss of each region as a second top",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<SmoothL1LossOhemLayer>,
    .loss = LossRole{},
    .loss_fields = kNormalizerFields,
});

}  // namespace

}  // namespace cortado
