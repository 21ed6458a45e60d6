// SmoothL1Loss: y = sum of outside f(inside (x0 - x1)) / N, with N the extent of axis 0, and
//   f(d) = (sigma d)^2 / 2 where |d| < 1 / sigma^2, else |d| - 1 / (2 sigma^2)
// This type implements two layers of Caffe's family. SSD's and NVIDIA's has at most a third bottom, `inside`, and sigma
// 1. Faster R-CNN's and Intel's has sigma, and both `inside` and `outside` or neither. In both the third bottom is
// `inside`, the fourth `outside`, each with a weight for each element; the default weight is 1.
//
// A second top (Cascade R-CNN) is the sum over axis 1 for each sample and position, not divided by N.
//
// Both x0 and x1 get gradients, which are exact. SSD omits the factor `inside`, which makes no difference for its
// weights of 0 and 1.

#include <cmath>

#include "layers/common/losses/difference_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Huber {
  explicit Huber(const LayerOptions& options) {
    const float sigma = options.config.smooth_l1_loss_param().sigma();
    if (!(sigma > 0 && std::isfinite(sigma)))
      throw FieldError("smooth_l1_loss_param.sigma", "it is " + to_text(sigma) + ", but must be above 0",
                       "the loss is quadratic for differences below 1 / sigma^2");
    sharpness = sigma * sigma;
  }
  CORTADO_HD float value(float d) const {
    const float size = fabsf(d);
    return size * sharpness < 1 ? 0.5f * sharpness * d * d : size - 0.5f / sharpness;
  }
  CORTADO_HD float slope(float d) const { return fabsf(d) * sharpness < 1 ? sharpness * d : d > 0 ? 1 : -1; }

  float sharpness;  ///< sigma^2
};

const RegisterLayer register_smooth_l1_loss({
    .name = "SmoothL1Loss",
    .help = "differences, squared near 0 and absolute beyond, with optional weights",
    .options = "smooth_l1_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_layer<DifferenceLossLayer<Huber>>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
