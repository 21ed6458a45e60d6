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

size_t place_in(const Shape& small, const Shape& shape, int64_t i) {
  int64_t at = 0, step = 1;
  for (int axis = shape.axes() - 1; axis >= 0; --axis) {
    const int64_t place = i % shape[axis];
    i /= shape[axis];
    const int own = axis - (shape.axes() - small.axes());
    if (own < 0 || small[own] == 1) continue;
    at += place * step;
    step *= small[own];
  }
  return size_t(at);
}

Constant integers_of(std::vector<int64_t> values) {
  return {.shape = {int64_t(values.size())}, .integers = true, .ints = std::move(values)};
}

}  // namespace cortado::importing
