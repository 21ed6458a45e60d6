// EuclideanLoss: y = ||x0 - x1||^2 / (2 N), with N the extent of axis 0.
// dx0 = dy (x0 - x1) / N and dx1 = -dx0: both bottoms get gradients.

#include "layers/common/losses/difference_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct HalfSquare {
  explicit HalfSquare(const LayerOptions&) {}
  CORTADO_HD float value(float d) const { return 0.5f * d * d; }
  CORTADO_HD float slope(float d) const { return d; }
};

const RegisterLayer register_euclidean_loss({
    .name = "EuclideanLoss",
    .help = "half the mean squared distance of the samples",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DifferenceLossLayer<HalfSquare>>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
