#pragma once

// Common code of the plain candidates of matrix products and convolutions.

#include <cstdint>

#include "core/host_device.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

CORTADO_HD inline float sum_of_lanes(const float (&lanes)[8]) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// The sum of term(i) for i in [0, n), in eight partial sums, so that long sums keep their low bits.
template <typename Term>
CORTADO_HD float sum_of(int64_t n, const Term& term) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += term(i + lane);
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += term(i);
  return sum_of_lanes(lanes);
}

/// Applies a bias, which may be null, and an activation.
template <typename Bias>
CORTADO_HD float finished(float value, const Bias* bias, int64_t i, const Activation& activation) {
  return activation(bias ? value + float(bias[i]) : value);
}

}  // namespace cortado::kernels
