#pragma once

// caffe-FQ's fixed-point values in double precision.

#include <algorithm>
#include <cmath>

#include "tests/harness/array.h"

namespace cortado::harness {

struct FixedPointRule {
  double step, low, high;
  double round(double x) const { return step == 0 ? x : step * std::clamp(std::round(x / step), low, high); }
};

/// For `levels` levels.
inline FixedPointRule fixed_point_rule(const Array& x, double levels) {
  const double low = *std::min_element(x.values.begin(), x.values.end());
  const double high = *std::max_element(x.values.begin(), x.values.end());
  const double above = std::floor((levels - 1) / 2), below = std::floor(levels / 2);
  const double needed = low >= 0 ? high / (levels - 1) : std::max(-low / below, above > 0 ? high / above : 0);
  const double step = needed > 0 ? std::exp2(std::ceil(std::log2(needed))) : 0;
  if (low >= 0) return {step, 0, levels - 1};
  return {step, -below, above};
}

inline Array rounded(const Array& x, const FixedPointRule& rule) {
  return map(x, [=](double v) { return rule.round(v); });
}

}  // namespace cortado::harness
