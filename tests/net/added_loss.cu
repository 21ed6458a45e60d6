// The only file that an added loss needs: its curve and its type.

#include "layers/common/losses/difference_loss.h"
#include "layers/registry.h"

namespace cortado::testing {

namespace {

/// d^4 / 4
struct FourthPower {
  explicit FourthPower(const LayerOptions&) {}
  CORTADO_HD float value(float d) const { return 0.25f * d * d * d * d; }
  CORTADO_HD float slope(float d) const { return d * d * d; }
};

const RegisterLayer register_fourth_power({.name = "TestFourthPowerLoss",
                                           .help = "for a test",
                                           .options = "",
                                           .min_bottoms = 2,
                                           .max_bottoms = 2,
                                           .min_tops = 1,
                                           .max_tops = 1,
                                           .make = make_layer<DifferenceLossLayer<FourthPower>>,
                                           .loss = LossRole{.answer = "Sigmoid"}});

}  // namespace

}  // namespace cortado::testing
