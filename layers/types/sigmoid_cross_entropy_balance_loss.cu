// SigmoidCrossEntropyBalanceLoss: the cross-entropy of sigmoid(x) with targets of 0 and 1, where in each image what is
// rare counts more, as HED trains edges: with n targets of 1 and m of 0 in the image
//     loss = m / (n + m) sum over 1s of log(1 + e^-x) + n / (n + m) sum over 0s of log(1 + e^x),
// summed over the images and divided by their number. Targets that are neither 0 nor 1 count nothing, here in backward
// too, where HED forgets it.

#include <cmath>

#include "core/error.h"
#include "layers/common/shape_rules.h"
#include "layers/common/typed.h"
#include "layers/common/volume_options.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int64_t kSums = 4;  ///< of each image: loss of its 1s, of its 0s, how many 1s, how many 0s

template <typename T>
struct SumTerm {
  const T* x;
  const float* targets;
  int64_t width;  ///< elements of an image
  CORTADO_HD float operator()(int64_t k, int64_t at) const {
    const int64_t i = k / kSums * width + at;
    const bool one = k % 2 == 0;
    if (targets[i] != (one ? 1.0f : 0.0f)) return 0;
    if (k % kSums >= 2) return 1;
    const float v = one ? -float(x[i]) : float(x[i]);
    return (v > 0 ? v : 0) + log1pf(expf(-fabsf(v)));
  }
};

/// What the 1s of an image, or its 0s, count.
CORTADO_HD inline float weight_of(const float* sums, bool one) {
  const float ones = sums[2], zeros = sums[3];
  return ones + zeros > 0 ? (one ? zeros : ones) / (ones + zeros) : 0;
}

struct ImageLoss {
  const float* sums;
  CORTADO_HD float operator()(int64_t, int64_t image) const {
    const float* own = sums + image * kSums;
    return weight_of(own, true) * own[0] + weight_of(own, false) * own[1];
  }
};

struct Mean {
  float* y;
  float n;
  CORTADO_HD void operator()(int64_t) const { y[0] = n > 0 ? y[0] / n : 0; }
};

template <typename T>
struct Backward {
  const T* x;
  T* dx;
  const float *targets, *sums, *dy;
  int64_t width, images;
  CORTADO_HD void operator()(int64_t i) const {
    const float t = targets[i], s = 1 / (1 + expf(-float(x[i])));
    const bool counts = t == 0 || t == 1;
    dx[i] = counts ? (s - t) * weight_of(sums + i / width * kSums, t == 1) * (dy[0] / float(images)) : 0;
  }
};

class SigmoidCrossEntropyBalanceLossLayer : public Layer {
 public:
  explicit SigmoidCrossEntropyBalanceLossLayer(const LayerOptions& options) {
    const caffe::LossParameter& loss = options.config.loss_param();
    refuse_fields(loss, "loss_param", {"ignore_label", "label_smoothing", "pre_fixed_normalizer", "class_weight"},
                  "targets that are neither 0 nor 1 are left out, and the counts of the classes are their weights");
    const bool other = loss.has_normalization() && loss.normalization() != caffe::LossParameter::BATCH_SIZE;
    if (other || loss.normalize())
      throw FieldError(other ? "loss_param.normalization" : "loss_param.normalize",
                       "this loss is divided by the number of images and by nothing else", "write BATCH_SIZE");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 1);
    if (x[1].count() != x[0].count())
      throw FieldError("bottom[1]",
                       "there are " + std::to_string(x[1].count()) + " targets (" + x[1].str() + ") for " +
                           std::to_string(x[0].count()) + " predictions (" + x[0].str() + ")",
                       "each prediction has one target");
    images_ = x[0][0], width_ = x[0].count(1);
    return {.y = {Shape()}, .w = {}};
  }

  TypeRule types() const override { return TypeRule::kReads; }
  bool is_loss() const override { return true; }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {true, true};
    needs.saved = {checked_mul(kSums * images_, sizeof(float))};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    float *sums = static_cast<float*>(io.saved[0]), *y = io.y[0].f32();
    const auto sum = [&](const auto& term) { reduce_rows(context, kSums * images_, width_, term, sums); };
    with_functor<SumTerm>(sum, io.x[0], static_cast<const float*>(io.x[1].f32()), width_);
    reduce_rows(context, 1, images_, ImageLoss{sums}, y);
    for_each(context, 1, Mean{y, float(images_)});
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_typed<Backward>(context, io.x[0], io.dx[0], io.x[1].f32(), static_cast<const float*>(io.saved[0]),
                               io.dy[0].f32(), width_, images_);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }

 private:
  int64_t images_ = 0, width_ = 0;
};

const RegisterLayer registered({
    .name = "SigmoidCrossEntropyBalanceLoss",
    .help = "sigmoid and the cross-entropy with targets, the rarer ones of each image counting more",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SigmoidCrossEntropyBalanceLossLayer>,
});

}  // namespace

}  // namespace cortado
