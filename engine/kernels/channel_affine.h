#pragma once

// What only multiplies and shifts whole channels, y = scale[c] x + shift[c], and how several of them in a row become
// one. BatchNorm by its running averages is one, Scale and Bias are others. Folded into the weights of the layer before
// them they cost nothing: w' = scale w and b' = scale b + shift, for each output channel.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/host_device.h"

namespace cortado::kernels {

/// One such step, told by the weights that it lists, in this order: mean, variance and their factor if it normalises,
/// then a factor for each channel if it scales, then a term for each channel if it shifts. BN's order,
/// `ends_with_mean`, is another: factors, terms, mean and variance, which nothing divides.
struct ChannelAffine {
  bool normalises = false, scales = false, shifts = false;
  bool ends_with_mean = false;  ///< only where it normalises
  float eps = 0;                ///< added to the variance

  size_t weights() const { return statistics() + (scales ? 1u : 0u) + (shifts ? 1u : 0u); }
  size_t statistics() const { return !normalises ? 0 : ends_with_mean ? 2 : 3; }
  bool operator==(const ChannelAffine&) const = default;
};

/// What BatchNorm's sums of means and of variances are multiplied by to get averages; `factor` 0: there are none yet.
CORTADO_HD inline float average_scale(float factor) { return factor == 0 ? 0 : 1 / factor; }

/// A row of such steps for `channels` channels. `w` are the weights of all of them, one step after the other, plain
/// floats.
struct ChannelFactors {
  ChannelFactors(const std::vector<ChannelAffine>& row, const std::vector<const float*>& w, int64_t channels);

  std::vector<double> scale, shift;  ///< per channel
};

}  // namespace cortado::kernels
