#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace cortado {

/// The least multiple of `unit` that is not below `n`; neither is negative.
template <typename T>
constexpr T round_up(T n, std::type_identity_t<T> unit) {
  return (n + unit - 1) / unit * unit;
}

/// Of an even number of values the larger of the two in the middle. There is at least one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cortado
