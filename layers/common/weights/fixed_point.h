#pragma once

// Fixed-point values during training (caffe-FQ, Park): multiples of a step, a power of two.
//     q(x) = step clamp(round(x / step), low, high),  dx = dq
// For `levels` levels they are from 0 to levels - 1 if x has no negative value, else from -(levels / 2) to
// (levels - 1) / 2; the step is the smallest with which no value of x is clamped. A weight of four numbers that solvers
// do not update holds levels (256 at first), the largest step of all passes, low and high. Training uses the step of
// the pass. Tests use the stored numbers, or if there are none those of the pass. For .cu files.

#include <cmath>

#include "core/loops/for_each.h"
#include "layers/common/weights/given_values.h"
#include "layers/layer.h"

namespace cortado {

constexpr int64_t kExtremesAtOnce = 1024;  ///< values that one thread compares

struct FixedPoint {
  float step, low, high;
  CORTADO_HD float round(float x) const {
    if (step == 0) return x;
    const float level = roundf(x / step);
    return step * (level > high ? high : level < low ? low : level);
  }
};

/// The smallest power of two from `value` on; 0, infinity and NaN stay.
CORTADO_HD inline float next_power_of_two(float value) {
  if (!(value > 0 && value < INFINITY)) return value;
  int exponent = 0;
  const float part = frexpf(value, &exponent);  // from 0.5 to below 1
  return ldexpf(1, part == 0.5f ? exponent - 1 : exponent);
}

struct FindExtremes {
  const float* x;
  int64_t count;
  float* extremes;  ///< for each part of x its minimum and maximum
  CORTADO_HD void operator()(int64_t part) const {
    const int64_t begin = part * kExtremesAtOnce, rest = count - begin;
    float low = x[begin], high = x[begin];
    for (int64_t i = 1; i < rest && i < kExtremesAtOnce; ++i)
      low = fminf(low, x[begin + i]), high = fmaxf(high, x[begin + i]);
    extremes[2 * part] = low, extremes[2 * part + 1] = high;
  }
};

/// Chooses the levels of a pass, and in training stores them.
struct ChooseFixedPoint {
  const float* extremes;
  int64_t parts;
  float* stored;
  bool training;
  FixedPoint* chosen;

  CORTADO_HD FixedPoint of_pass() const {
    float low = 0, high = 0;
    for (int64_t k = 0; k < parts; ++k) low = fminf(low, extremes[2 * k]), high = fmaxf(high, extremes[2 * k + 1]);
    const float levels = fminf(fmaxf(floorf(stored[0]), 2), float(1 << 24));
    if (low > -1.1920929e-7f) return {next_power_of_two(high / (levels - 1)), 0, levels - 1};
    const float above = floorf((levels - 1) / 2), below = -floorf(levels / 2);
    const float step = above > 0 ? fmaxf(low / below, high / above) : low / below;
    return {next_power_of_two(step), below, above};
  }
  CORTADO_HD void operator()(int64_t) const {
    if (!training && stored[1] != 0 && stored[2] != stored[3]) {
      *chosen = {stored[1], stored[2], stored[3]};
      return;
    }
    *chosen = of_pass();
    if (!training) return;
    stored[1] = fmaxf(stored[1], chosen->step);
    stored[2] = chosen->low, stored[3] = chosen->high;
  }
};

struct RoundToFixedPoint {
  const float* x;
  const FixedPoint* chosen;
  float* y;
  CORTADO_HD void operator()(int64_t i) const { y[i] = chosen->round(x[i]); }
};

/// Bytes of scratch to round `count` values.
inline int64_t fixed_point_scratch(int64_t count) {
  const int64_t parts = (count + kExtremesAtOnce - 1) / kExtremesAtOnce;
  return int64_t(sizeof(FixedPoint)) + 2 * parts * kFloatBytes;
}

/// y = q(x); y may be x. `stored` is the weight.
inline void round_to_fixed_point(Context& context, const float* x, int64_t count, float* stored, bool training,
                                 void* scratch, float* y) {
  const int64_t parts = (count + kExtremesAtOnce - 1) / kExtremesAtOnce;
  FixedPoint* chosen = static_cast<FixedPoint*>(scratch);
  float* extremes = reinterpret_cast<float*>(chosen + 1);
  for_each(context, parts, FindExtremes{x, count, extremes});
  for_each(context, 1, ChooseFixedPoint{extremes, parts, stored, training, chosen});
  for_each(context, count, RoundToFixedPoint{x, chosen, y});
}

/// The weight.
inline WeightSpec fixed_point_weight() {
  return {.shape = {4}, .filler = filler_of_values({256, 0, 0, 0}), .learned = false};
}

/// Makes `inner`, a layer whose first weight is multiplied, compute with q(w). dw is that of q(w). The weight of four
/// numbers is the last.
std::unique_ptr<Layer> with_fixed_point_weights(std::unique_ptr<Layer> inner, const LayerOptions& options);

}  // namespace cortado
