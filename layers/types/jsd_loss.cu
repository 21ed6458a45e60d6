// JSDLoss: the Jensen-Shannon divergence of a predicted distribution p (bottom[0]) from a given one q (bottom[1]):
//     y = sum of (p log(2 p) + q log(2 q) - (p + q) log(p + q)) / (2 N),   dp = log(2 p / (p + q)) / (2 N)
// N is the extent of axis 0. Values up to 1e-5 count as 0, where 0 log 0 is 0; in dp such a p counts as 1e-5, so that
// the gradient stays finite. bottom[1] gets no gradient. A layer of forks for label distributions (ages, counts).

#include <cmath>

#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

constexpr float kLeastShare = 1e-5f;

template <typename T>
struct DivergenceTerm {
  const T* p;
  const float* q;
  int64_t width;
  CORTADO_HD static float weighted_log(float value) { return value > kLeastShare ? value * logf(2 * value) : 0; }
  CORTADO_HD float operator()(int64_t row, int64_t k) const {
    const int64_t i = row * width + k;
    const float a = p[i], b = q[i], sum = a + b;
    if (a <= kLeastShare) return b * logf(2);
    if (b <= kLeastShare) return a * logf(2);
    return weighted_log(a) + weighted_log(b) - sum * logf(sum);
  }
};

struct HalfMean {
  const float* sums;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return scale * sums[i]; }
};

template <typename T>
struct DivergenceSlope {
  const T* p;
  T* dp;
  const float *q, *dy;
  float scale;
  CORTADO_HD void operator()(int64_t i) const {
    const float a = float(p[i]) <= kLeastShare ? kLeastShare : float(p[i]), b = q[i];
    dp[i] = dy[0] * scale * (b <= kLeastShare ? logf(2) : logf(2 * a / (a + b)));
  }
};

class JsdLossLayer : public Layer, public Scoring {
 public:
  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    if (x[1].axes() < 1 || x[1][0] != x[0][0] || x[1].count(1) != x[0].count(1))
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                       "both bottoms must have the same number of samples (axis 0) of the same size");
    samples_ = x[0][0], width_ = x[0].count(1);
    return {.y = {Shape()}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }
  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x.assign(request.x.size(), true);
    needs.forward_scratch = samples_ * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float* sums = static_cast<float*>(io.scratch);
    with_float_type(io.x[0].spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      reduce_rows(context, samples_, width_, DivergenceTerm<T>{io.x[0].as<T>(), io.x[1].f32(), width_}, sums);
    });
    reduce_rows(context, 1, samples_, HalfMean{sums, scale()}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    with_float_type(io.x[0].spec.dtype, [&](auto zero) {
      using T = decltype(zero);
      for_each(context, io.x[0].count(),
               DivergenceSlope<T>{io.x[0].as<T>(), io.dx[0].as<T>(), io.x[1].f32(), io.dy[0].f32(), scale()});
    });
  }

  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t) const override { return {.fixed = double(samples_)}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 8 * x[0].count(); }

 private:
  float scale() const { return samples_ > 0 ? 0.5f / float(samples_) : 0; }

  int64_t samples_ = 0, width_ = 0;
};

const RegisterLayer register_jsd_loss({
    .name = "JSDLoss",
    .help = "the Jensen-Shannon divergence of two distributions; bottom[1] is the given one",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = [](const LayerOptions&) -> std::unique_ptr<Layer> { return std::make_unique<JsdLossLayer>(); },
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
