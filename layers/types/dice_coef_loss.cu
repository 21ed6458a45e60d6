// DiceCoefLoss: 1 - the mean over the images of the Dice coefficient 2 sum of x t / (sum of x^2 + sum of t^2), as in
// V-Net, for probabilities x and targets t. An image with x = t = 0 everywhere has coefficient 1.
//     dx = -dy / images * (2 t / s - 4 p x / s^2), p being the sum of x t and s that of the squares

#include "core/error.h"
#include "layers/common/losses/image_mean_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Dice {
  static constexpr int64_t kSums = 2;  ///< per image: of products, of squares

  template <typename T>
  struct SumTerm {
    const T* x;
    const float* targets;
    int64_t width;  ///< elements of an image
    CORTADO_HD float operator()(int64_t k, int64_t at) const {
      const int64_t i = k / kSums * width + at;
      const float v = x[i], t = targets[i];
      return k % kSums == 0 ? v * t : v * v + t * t;
    }
  };

  CORTADO_HD static float value(const float* sums) { return sums[1] == 0 ? 1 : 2 * sums[0] / sums[1]; }
  CORTADO_HD static float loss(float mean) { return 1 - mean; }
  CORTADO_HD static float slope(float x, float t, const float* sums) {
    return sums[1] == 0 ? 0 : -(2 * t / sums[1] - 4 * (sums[0] / sums[1]) * (x / sums[1]));
  }
};

class DiceCoefLossLayer : public ImageMeanLoss<Dice> {
 public:
  explicit DiceCoefLossLayer(const LayerOptions& options) {
    if (options.config.has_loss_param())
      throw FieldError("loss_param", "this loss does not have options", "remove loss_param");
  }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }
};

const RegisterLayer register_dice_coef_loss({
    .name = "DiceCoefLoss",
    .help = "1 - the mean Dice coefficient of predictions and targets",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DiceCoefLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
