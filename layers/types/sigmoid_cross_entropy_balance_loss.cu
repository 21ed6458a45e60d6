// SigmoidCrossEntropyBalanceLoss: the cross-entropy of sigmoid(x) with targets of 0 and 1, with class balancing in each
// image, as in HED. With n targets of 1 and m of 0 in the image
//     loss = m / (n + m) sum over 1s of log(1 + e^-x) + n / (n + m) sum over 0s of log(1 + e^x),
// summed over the images and divided by their number. Targets other than 0 and 1 are ignored, also in backward, unlike
// in HED.

#include <cmath>

#include "core/error.h"
#include "layers/common/losses/image_mean_loss.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Balanced {
  static constexpr int64_t kSums = 4;  ///< of each image: loss of its 1s, of its 0s, number of 1s, of 0s

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

  /// The weight of the 1s of an image, or of its 0s.
  CORTADO_HD static float weight_of(const float* sums, bool one) {
    const float ones = sums[2], zeros = sums[3];
    return ones + zeros > 0 ? (one ? zeros : ones) / (ones + zeros) : 0;
  }
  CORTADO_HD static float value(const float* sums) {
    return weight_of(sums, true) * sums[0] + weight_of(sums, false) * sums[1];
  }
  CORTADO_HD static float loss(float mean) { return mean; }
  CORTADO_HD static float slope(float x, float t, const float* sums) {
    return t == 0 || t == 1 ? (1 / (1 + expf(-x)) - t) * weight_of(sums, t == 1) : 0;
  }
};

class SigmoidCrossEntropyBalanceLossLayer : public ImageMeanLoss<Balanced> {
 public:
  explicit SigmoidCrossEntropyBalanceLossLayer(const LayerOptions& options) {
    const caffe::LossParameter& loss = options.config.loss_param();
    refuse_fields(loss, "loss_param",
                  {"ignore_label", "label_smoothing", "pre_fixed_normalizer", "class_weight", "class_weighting",
                   "weight_by_label_freqs"},
                  "targets other than 0 and 1 are ignored, and the counts of the classes determine the weights");
    const bool other = loss.has_normalization() && loss.normalization() != caffe::LossParameter::BATCH_SIZE;
    if (other || loss.normalize())
      throw FieldError(other ? "loss_param.normalization" : "loss_param.normalize",
                       "this loss is always divided by the number of images", "set BATCH_SIZE");
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }
};

const RegisterLayer register_sigmoid_cross_entropy_balance_loss({
    .name = "SigmoidCrossEntropyBalanceLoss",
    .help = "sigmoid and cross-entropy, balanced between the targets 0 and 1 of each image",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SigmoidCrossEntropyBalanceLossLayer>,
    .loss = LossRole{.answer = "Sigmoid"},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
