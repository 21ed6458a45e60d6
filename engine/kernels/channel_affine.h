#pragma once

// Per-channel affine steps, y = scale[c] x + shift[c], and their composition. Examples are BatchNorm with running
// averages, Scale and Bias. They can be folded into the weights of the preceding layer at no cost: w' = scale w and b'
// = scale b + shift for each output channel.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/host_device.h"

namespace cortado::kernels {

/// One step, described by its weights in order: mean, variance and their factor if it normalizes, then a factor per
/// channel if it scales, then an offset per channel if it shifts. BN's order, `ends_with_mean`, is factors, offsets,
/// mean and variance, without a factor that divides them.
struct ChannelAffine {
  bool normalises = false, scales = false, shifts = false;
  bool ends_with_mean = false;  ///< only with `normalises`
  float eps = 0;                ///< added to the variance

  size_t weights() const { return statistics() + (scales ? 1u : 0u) + (shifts ? 1u : 0u); }
  size_t statistics() const { return !normalises ? 0 : ends_with_mean ? 2 : 3; }
  bool operator==(const ChannelAffine&) const = default;
};

/// The factor that converts BatchNorm's accumulated means and variances to averages; 0 if `factor` is 0, that is,
/// before the first batch.
CORTADO_HD inline float average_scale(float factor) { return factor == 0 ? 0 : 1 / factor; }

/// The composition of steps for `channels` channels. `w` has the weights of all steps in order, as plain floats.
struct ChannelFactors {
  ChannelFactors(const std::vector<ChannelAffine>& row, const std::vector<const float*>& w, int64_t channels);

  std::vector<double> scale, shift;  ///< per channel
};

}  // namespace cortado::kernels
