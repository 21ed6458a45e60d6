#include "onnx/import/constant.h"

#include <cmath>

namespace cortado::importing {

int64_t whole_part(double value) {
  if (std::isnan(value)) return 0;
  return std::abs(value) < 9e18 ? int64_t(value) : value > 0 ? INT64_MAX : INT64_MIN;
}

std::vector<int64_t> Constant::as_integers() const {
  if (integers) return ints;
  std::vector<int64_t> out;
  for (const float value : floats) out.push_back(whole_part(double(value)));
  return out;
}

std::vector<float> Constant::as_floats() const {
  return integers ? std::vector<float>(ints.begin(), ints.end()) : floats;
}

Constant integers_of(std::vector<int64_t> values) {
  return {.shape = {int64_t(values.size())}, .integers = true, .ints = std::move(values)};
}

}  // namespace cortado::importing
