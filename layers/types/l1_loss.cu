// L1Loss: y = sum of |x0 - x1| / N, N being the extent of axis 0 alone.
// dx0 = dy sign(x0 - x1) / N, 0 where they are equal, and dx1 = -dx0: both bottoms get a gradient.

#include <cmath>

#include "layers/common/losses/difference_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Magnitude {
  explicit Magnitude(const LayerOptions&) {}
  CORTADO_HD float value(float d) const { return fabsf(d); }
  CORTADO_HD float slope(float d) const { return d > 0 ? 1 : d < 0 ? -1 : 0; }
};

const RegisterLayer register_l1_loss(
    {
        .name = "L1Loss",
        .help = "the mean over samples of the sum of absolute differences",
        .options = "",
        .min_bottoms = 2,
        .max_bottoms = 2,
        .min_tops = 1,
        .max_tops = 1,
        .make = make_layer<DifferenceLossLayer<Magnitude>>,
        .loss = LossRole{},
    },
    "ManhattanLoss", "another name of L1Loss");

}  // namespace

}  // namespace cortado
