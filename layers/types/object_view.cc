#include "layers/types/object_view.h"

#include <algorithm>
#include <cmath>

namespace cortado {

namespace {

constexpr float kLargeFactor = 1.5f;  ///< above it, only a part of the image is scaled up
constexpr float kSpare = 1.2f;        ///< the scaled part is this much larger than the image

int rounded(float value, int least, int most) {
  return int(std::clamp<long long>(std::llround(value), least, std::max(least, most)));
}

}  // namespace

float draw_factor(const ObjectScales& scales, const Box& box, RandomStream& stream) {
  const int count = int(std::lround(2 * std::log2(scales.most / scales.least) + 1));
  const float area = box_area(box);
  int nearest = 0;
  float best = 0;
  for (int k = 0; k < count; ++k) {
    const float side = scales.least * std::exp2(float(k) / 2);
    const float likeness = std::min(area, side * side) / std::max(area, side * side);
    if (likeness > best) best = likeness, nearest = k;
  }
  return std::exp2(float(int(stream.below(uint64_t(count))) - nearest) / 2);
}

AxisView view_axis(int size, int target, float centre, float factor, int noise) {
  AxisView view{0, size, size, 0, 0, target, factor};
  if (factor > kLargeFactor) {
    view.length = rounded(kSpare * float(size) / factor, 1, size);
    view.first = rounded(centre - float(view.length) / 2, 0, size - view.length);
  }
  if (factor != 1) view.scaled = rounded(float(view.length) * factor, 1, 1 << 24);
  if (view.scaled <= target) {
    view.copied = view.scaled;
    view.to = rounded(std::round(float(target - view.scaled) / 2) + float(noise), 0, target - view.scaled);
  } else {
    const float middle = std::round((centre - float(view.first)) * factor) + float(noise);
    view.from = rounded(middle - std::round(float(target) / 2), 0, view.scaled - target);
  }
  return view;
}

}  // namespace cortado
