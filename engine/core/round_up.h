#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace cortado {

/// The smallest multiple of `unit` that is >= `n`; both are non-negative.
template <typename T>
constexpr T round_up(T n, std::type_identity_t<T> unit) {
  return (n + unit - 1) / unit * unit;
}

/// The upper median. `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cortado
