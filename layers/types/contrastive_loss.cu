// ContrastiveLoss: for pairs of vectors a, b with distance d, y = sum of (d^2 for similar pairs, else max(margin - d,
// 0)^2) / (2 N). The third bottom has a label for each pair; similar pairs have a nonzero label (fractions are
// truncated). Backward divides by d + 1e-4, as in Caffe, so that pairs with d = 0 have a finite gradient.
// legacy_version uses max(margin - d^2, 0) for dissimilar pairs. N is the extent of axis 0.

#include <cmath>

#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

template <typename T>
struct SquaredDistance {
  const T* a;
  const float* b;
  int64_t width;  ///< elements of one vector
  CORTADO_HD float operator()(int64_t pair, int64_t i) const {
    const float difference = a[pair * width + i] - b[pair * width + i];
    return difference * difference;
  }
};

struct ContrastiveLossRule {
  const float *squares, *labels;
  float margin;
  bool legacy;

  CORTADO_HD bool alike(int64_t pair) const { return truncf(labels[pair]) != 0; }
  CORTADO_HD float loss(int64_t pair) const {
    const float square = squares[pair];
    if (alike(pair)) return square;
    const float gap = margin - (legacy ? square : sqrtf(square));
    return gap < 0 ? 0 : legacy ? gap : gap * gap;
  }
  /// Half the derivative of the loss, the factor of a - b.
  CORTADO_HD float slope(int64_t pair) const {
    const float square = squares[pair];
    if (alike(pair)) return 1;
    if (legacy) return margin - square > 0 ? -1 : 0;
    const float distance = sqrtf(square), gap = margin - distance;
    return gap > 0 ? -gap / (distance + 1e-4f) : 0;
  }
};

struct PairLoss {
  ContrastiveLossRule rule;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t pair) const { return scale * rule.loss(pair); }
};

template <typename T, typename D>
struct ContrastiveLossBackward {
  const T* a;
  D* dx;
  const float* b;
  ContrastiveLossRule rule;
  int64_t width;
  const float* dy;  ///< one value
  float scale;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = dy[0] * scale * rule.slope(i / width) * (a[i] - b[i]); }
};

template <typename T>
using BackwardOfFirst = ContrastiveLossBackward<T, T>;
template <typename T>
using BackwardOfSecond = ContrastiveLossBackward<T, float>;

class ContrastiveLossLayer : public Layer, public Scoring {
 public:
  explicit ContrastiveLossLayer(const LayerOptions& options) : options_(options.config.contrastive_loss_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    if (x[1].axes() < 1 || x[1][0] != x[0][0] || x[1].count(1) != x[0].count(1))
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                       "both bottoms need the same number of vectors (axis 0) of the same size");
    pairs_ = x[0][0], width_ = x[0].count(1);
    if (x[2].count() != pairs_)
      throw FieldError("bottom[2]",
                       "it has " + std::to_string(x[2].count()) + " labels (" + x[2].str() + ") for " +
                           std::to_string(pairs_) + " pairs (" + x[0].str() + ")",
                       "give one label for each pair, 1 if it is similar");
    return {.y = {Shape()}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }

  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true, true};
    needs.saved = {pairs_ * int64_t(sizeof(float))};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float* squares = static_cast<float*>(io.saved[0]);
    const auto sum = [&](const auto& term) { reduce_rows(context, pairs_, width_, term, squares); };
    with_functor<SquaredDistance>(sum, io.x[0], io.x[1].f32(), width_);
    reduce_rows(context, 1, pairs_, PairLoss{rule(io), scale() / 2}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    const float *b = io.x[1].f32(), *dy = io.dy[0].f32();
    if (io.dx[0]) for_each_typed<BackwardOfFirst>(context, io.x[0], io.dx[0], b, rule(io), width_, dy, scale());
    if (io.dx[1]) for_each_typed<BackwardOfSecond>(context, io.x[0], io.dx[1].f32(), b, rule(io), width_, dy, -scale());
  }

  bool differentiable(int i) const override { return i < 2; }
  Ratio quotient(size_t) const override { return {.fixed = double(pairs_)}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 3 * x[0].count(); }

 private:
  ContrastiveLossRule rule(const Operands& io) const {
    return {static_cast<const float*>(io.saved[0]), io.x[2].f32(), options_.margin(), options_.legacy_version()};
  }
  float scale() const { return pairs_ > 0 ? 1 / float(pairs_) : 0; }

  const caffe::ContrastiveLossParameter& options_;
  int64_t pairs_ = 0, width_ = 0;
};

const RegisterLayer register_contrastive_loss({
    .name = "ContrastiveLoss",
    .help = "pulls similar pairs together and pushes dissimilar pairs a margin apart",
    .options = "contrastive_loss_param",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ContrastiveLossLayer>,
    .loss = LossRole{.judged = {0, 1}},
});

}  // namespace

}  // namespace cortado
