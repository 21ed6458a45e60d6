#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cortado {

/// Of an even number of values the larger of the two in the middle. There is at least one.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace cortado
