// EuclideanLoss: y = ||x0 - x1||^2 / (2 N), with N the extent of axis 0.
// dx0 = dy (x0 - x1) / N and dx1 = -dx0: both bottoms get gradients.
// With a third bottom, from OpenCL Caffe, y = ||x2 (x0 - x1)||^2 / (2 N) and dx0 = dy x2^2 (x0 - x1) / N. There the
// gradient has x2 instead of its square, which is the same for a mask of 0 and 1.

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
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DifferenceLossLayer<HalfSquare>>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
