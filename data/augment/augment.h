#pragma once

// Computes pixels from (sample, draw, position). Both the CPU's rows and the device kernel call these functions, so
// both compute the same numbers. Positions are fixed point. Weights of bytes are integers that sum to exactly 2^14, and
// sums of bytes are integers, so geometry is bit-exact by construction. Colours are 32-bit floats, computed by
// additions and multiplications only, which neither build contracts into FMAs. Exponentials and sines are polynomials
// for the same reason. Rows are interpolated first and rounded to 1/128 of a grey level, then columns.

#include <cmath>

#include "core/host_device.h"
#include "core/rng.h"
#include "data/augment/augment_params.h"
#include "data/sample.h"

namespace cortado::data {

constexpr int64_t kOnePixel = int64_t(1) << 32, kHalfPixel = int64_t(1) << 31;
constexpr int kWeightBits = 14, kRowShift = 7;
constexpr int32_t kWeightOne = 1 << kWeightBits;
constexpr float kByteUnit = 1.0f / float(1 << (2 * kWeightBits - kRowShift)), kWeightUnit = 1.0f / float(kWeightOne);

CORTADO_HD inline int clamped(int at, int size) { return at < 0 ? 0 : at < size ? at : size - 1; }
/// Clamps in two steps, each of which is one instruction.
CORTADO_HD inline float clamped_color(float x) {
  const float low = x > 0.0f ? x : 0.0f;
  return low < 255.0f ? low : 255.0f;
}

/// e^-z for z >= 0, to 1e-6.
CORTADO_HD inline float decay(float z) {
  if (z >= 32.0f) return 0.0f;
  const float t = z * (1.0f / 32.0f);
  float p = 1.0f - t * (1.0f / 7.0f);
  for (int k = 6; k > 0; --k) p = 1.0f - t * p * (1.0f / float(k));
  for (int k = 0; k < 5; ++k) p *= p;
  return p;
}

/// sin(pi d) / (pi d), to 1e-6.
CORTADO_HD inline float sinc(float d) {
  if (d == 0.0f) return 1.0f;
  const float whole = floorf(d + 0.5f), r = (d - whole) * 3.14159265f, s = r * r;
  const float sine =
      r * (1.0f - s * (1.0f / 6.0f - s * (1.0f / 120.0f - s * (1.0f / 5040.0f - s * (1.0f / 362880.0f)))));
  return (int(whole) & 1 ? -sine : sine) / (d * 3.14159265f);
}

CORTADO_HD inline float tent(float d) {
  const float t = 1.0f - fabsf(d);
  return t > 0.0f ? t : 0.0f;
}

/// The same as OpenCV's: the slope at the neighbours is -0.75.
CORTADO_HD inline float cubic(float d) {
  const float a = -0.75f, t = fabsf(d);
  if (t <= 1.0f) return ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
  return t < 2.0f ? ((t - 5.0f) * t + 8.0f) * t * a - 4.0f * a : 0.0f;
}

/// The part of a pixel at distance d that a window of this width covers.
CORTADO_HD inline float coverage(float d, float width) {
  const float half = 0.5f * width, low = d - 0.5f, high = d + 0.5f;
  const float covered = (high < half ? high : half) - (low > -half ? low : -half);
  return covered > 0.0f ? covered : 0.0f;
}

/// The kernel at distance d from the position, before normalization to a sum of 1.
CORTADO_HD inline float kernel_at(const Kernel& kernel, float d) {
  switch (kernel.kind) {
    case KernelKind::kNearest:
      return 1.0f;
    case KernelKind::kLinear:
      return tent(d * kernel.inverse);
    case KernelKind::kCubic:
      return cubic(d * kernel.inverse);
    case KernelKind::kArea:
      return coverage(d, kernel.stretch);
    case KernelKind::kLanczos: {
      const float t = d * kernel.inverse;
      return fabsf(t) < 4.0f ? sinc(t) * sinc(t * 0.25f) : 0.0f;
    }
    case KernelKind::kGauss:
      return decay(d * d * kernel.inverse);
    case KernelKind::kSharp:
      break;
  }
  const float sides = tent((d - kernel.spacing) * kernel.inverse) + tent((d + kernel.spacing) * kernel.inverse);
  return (1.0f + 2.0f * kernel.amount) * tent(d * kernel.inverse) - kernel.amount * sides;
}

/// The neighbours of a position along one axis: `count` pixels from `first`, possibly beyond the edges. Weights are
/// rounded; `rest`, the difference of their sum to 1, is added to the one at `nearest`.
struct Taps {
  int32_t first = 0, count = 1, nearest = 0, rest = 0;
  float offset = 0;  ///< distance of the first
  float norm = 0;
};

CORTADO_HD inline int32_t rounded_weight(const Kernel& kernel, const Taps& taps, int k) {
  return int32_t(floorf(kernel_at(kernel, taps.offset + float(k)) * taps.norm + 0.5f));
}

CORTADO_HD inline int32_t weight_of(const Kernel& kernel, const Taps& taps, int k) {
  if (taps.count == 1) return kWeightOne;
  return rounded_weight(kernel, taps, k) + (k == taps.nearest ? taps.rest : 0);
}

CORTADO_HD inline Taps taps_at(const Kernel& kernel, int64_t place) {
  Taps taps;
  if (kernel.kind == KernelKind::kNearest) {
    taps.first = int32_t((place + kHalfPixel) >> 32);
    return taps;
  }
  const float fraction = float(uint32_t(place) >> 8) * (1.0f / 16777216.0f);
  taps.first = int32_t(place >> 32) - kernel.reach + 1;
  taps.count = 2 * kernel.reach;
  taps.nearest = kernel.reach - (fraction < 0.5f ? 1 : 0);
  taps.offset = float(1 - kernel.reach) - fraction;
  float total = 0;
  for (int k = 0; k < taps.count; ++k) total += kernel_at(kernel, taps.offset + float(k));
  taps.norm = float(kWeightOne) / total;
  taps.rest = kWeightOne;
  for (int k = 0; k < taps.count; ++k) taps.rest -= rounded_weight(kernel, taps, k);
  return taps;
}

/// Maps a position beyond the edges to the one that the border mode selects. Returns false if it is filled with a
/// constant.
CORTADO_HD inline bool bring_inside(Border border, int size, int64_t& place) {
  const int64_t end = int64_t(size) * kOnePixel;
  int64_t at = place + kHalfPixel;
  if (at >= 0 && at < end) return true;
  if (border == Border::kFill) return false;
  if (border == Border::kEdge) {
    place = at < 0 ? 0 : end - kOnePixel;
    return true;
  }
  at %= 2 * end;
  if (at < 0) at += 2 * end;
  if (at >= end) at = 2 * end - 1 - at;
  place = at - kHalfPixel;
  return true;
}

CORTADO_HD inline int64_t column_place(const AugmentParams& params, int64_t x, int64_t y) {
  return params.map[0] * x + params.map[1] * y + params.map[2];
}
CORTADO_HD inline int64_t row_place(const AugmentParams& params, int64_t x, int64_t y) {
  return params.map[3] * x + params.map[4] * y + params.map[5];
}

/// Sums in a fixed order, for the same bits everywhere: the rows of one column, rounded, then the columns.
CORTADO_HD inline int32_t rounded_column(int32_t sum) { return (sum + (1 << (kRowShift - 1))) >> kRowShift; }

struct ByteSums {
  using Sum = int32_t;
  CORTADO_HD static Sum weight(int32_t w) { return w; }
  CORTADO_HD static Sum column(Sum sum) { return rounded_column(sum); }
  CORTADO_HD static float value(Sum sum) {
    constexpr int32_t kMax = 255 << (2 * kWeightBits - kRowShift);
    const int32_t low = sum > 0 ? sum : 0;
    return float(low < kMax ? low : kMax) * kByteUnit;
  }
};

struct FloatSums {
  using Sum = float;
  CORTADO_HD static Sum weight(int32_t w) { return float(w) * kWeightUnit; }
  CORTADO_HD static Sum column(Sum sum) { return sum; }
  CORTADO_HD static float value(Sum sum) { return sum; }
};

/// The position from which one pixel of the result is read.
struct Spot {
  bool fill = false;
  Taps across, down;
};

CORTADO_HD inline Spot spot_at(const AugmentParams& params, const Sample& sample, int64_t x, int64_t y) {
  Spot spot;
  int64_t column = column_place(params, x, y), row = row_place(params, x, y);
  spot.fill = !bring_inside(params.border, sample.width, column) || !bring_inside(params.border, sample.height, row);
  if (spot.fill) return spot;
  spot.across = taps_at(params.across, column);
  spot.down = taps_at(params.down, row);
  return spot;
}

template <typename Sums, typename T>
CORTADO_HD float read_spot(const T* x, int64_t row_step, int64_t column_step, const Sample& sample,
                           const AugmentParams& params, const Spot& spot) {
  typename Sums::Sum sum = 0;
  for (int i = 0; i < spot.across.count; ++i) {
    const T* from = x + clamped(spot.across.first + i, sample.width) * column_step;
    typename Sums::Sum column = 0;
    for (int k = 0; k < spot.down.count; ++k)
      column += Sums::weight(weight_of(params.down, spot.down, k)) *
                typename Sums::Sum(from[clamped(spot.down.first + k, sample.height) * row_step]);
    sum += Sums::weight(weight_of(params.across, spot.across, i)) * Sums::column(column);
  }
  return Sums::value(sum);
}

/// Channel c of the sample at the position of the draw.
CORTADO_HD inline float geometry_at(const Sample& sample, const AugmentParams& params, const Spot& spot, int c) {
  if (spot.fill) return params.fill[c < 4 ? c : 3];
  const int64_t plane = int64_t(sample.height) * sample.width;
  const int64_t column_step = sample.interleaved ? sample.channels : 1, row_step = sample.width * column_step;
  const int64_t from = sample.interleaved ? c : c * plane;
  return sample.bytes != nullptr
             ? read_spot<ByteSums>(sample.bytes + from, row_step, column_step, sample, params, spot)
             : read_spot<FloatSums>(sample.floats + from, row_step, column_step, sample, params, spot);
}

/// Applies one colour matrix to blue, green and red.
CORTADO_HD inline void apply_matrix(const float* v, float& b, float& g, float& r) {
  const float blue = v[0] * b + v[1] * g + v[2] * r + v[3];
  const float green = v[4] * b + v[5] * g + v[6] * r + v[7];
  const float red = v[8] * b + v[9] * g + v[10] * r + v[11];
  b = clamped_color(blue);
  g = clamped_color(green);
  r = clamped_color(red);
}
CORTADO_HD inline float posterized(const float* v, float x) { return floorf(x * v[1]) * v[0]; }
CORTADO_HD inline float solarized(const float* v, float x) { return x >= v[0] ? 255.0f - x : x; }
CORTADO_HD inline float looked_up(const uint8_t* table, float x) { return float(table[int(clamped_color(x) + 0.5f)]); }

CORTADO_HD inline void apply_color(const ColorOp& op, const uint8_t (*table)[256], float& b, float& g, float& r) {
  switch (op.kind) {
    case ColorKind::kMatrix:
      apply_matrix(op.v, b, g, r);
      break;
    case ColorKind::kPosterize:
      b = posterized(op.v, b), g = posterized(op.v, g), r = posterized(op.v, r);
      break;
    case ColorKind::kSolarize:
      b = solarized(op.v, b), g = solarized(op.v, g), r = solarized(op.v, r);
      break;
    case ColorKind::kEqualize:
      b = looked_up(table[0], b), g = looked_up(table[1], g), r = looked_up(table[2], r);
      break;
    case ColorKind::kAutoContrast:
      break;
  }
}

/// Random words for pixel `at` of the result: one for each channel, of one of several kinds.
enum class PixelLane : uint64_t { kNoise = 0, kErased = 1, kSalt = 2 };

CORTADO_HD inline Philox::Words pixel_words(const AugmentParams& params, PixelLane lane, int group, int64_t at) {
  return Philox(params.noise_key)(uint64_t(lane) << 32 | uint64_t(group), uint64_t(at));
}

/// Approximates a normal distribution with standard deviation 1 by the sum of four bytes; the range ends at 3.45.
CORTADO_HD inline float bell(uint32_t word) {
  const int sum = int(word & 255u) + int(word >> 8 & 255u) + int(word >> 16 & 255u) + int(word >> 24);
  return float(sum - 510) * 0.006766054f;
}

CORTADO_HD inline float with_noise(const AugmentParams& params, uint32_t word, bool bytes, float x) {
  const float noisy = x + params.noise * bell(word);
  return bytes ? clamped_color(noisy) : noisy;
}

/// Whether a pixel is replaced by salt and pepper noise; `first` is the first word of its kSalt lane.
CORTADO_HD inline bool is_salted(const AugmentParams& params, uint32_t first) {
  return unit_float(first) < params.salt;
}
CORTADO_HD inline float salt_at(const AugmentParams& params, uint32_t second, int c) {
  const float value = params.salt_value[c < 4 ? c : 3];
  return value >= 0.0f ? value : second >> 31 ? 255.0f : 0.0f;
}

CORTADO_HD inline bool is_erased(const Erased& erased, int64_t x, int64_t y) {
  return y >= erased.top && y < erased.top + erased.height && x >= erased.left && x < erased.left + erased.width;
}

/// Computes channels c0 to c0 + n (at most 4; colours change only with 1 or 3 channels in all) of pixel (x, y) of the
/// result, before mean subtraction. Returns false if the pixel is erased and becomes 0.
CORTADO_HD inline bool make_pixel(const Sample& sample, const AugmentParams& params, int64_t x, int64_t y, int c0,
                                  int n, float* v) {
  const bool erased = is_erased(params.erased, x, y);
  if (erased && !params.erased.noise) return false;
  const int64_t at = y * params.out_width + x;
  const int group = c0 / 4;
  if (erased) {
    const Philox::Words words = pixel_words(params, PixelLane::kErased, group, at);
    for (int c = 0; c < n; ++c) v[c] = float(words.v[c] >> 24);
    return true;
  }
  const Spot spot = spot_at(params, sample, x, y);
  for (int c = 0; c < n; ++c) v[c] = geometry_at(sample, params, spot, c0 + c);
  for (int i = spot.fill ? params.image_color_ops : 0; i < params.color_ops; ++i) {
    if (sample.channels == 1) {
      float b = v[0], r = v[0];
      apply_color(params.color[i], params.table, b, v[0], r);
    } else {
      apply_color(params.color[i], params.table, v[0], v[1], v[2]);
    }
  }
  if (params.noise > 0.0f) {
    const Philox::Words words = pixel_words(params, PixelLane::kNoise, group, at);
    for (int c = 0; c < n; ++c) v[c] = with_noise(params, words.v[c], sample.bytes != nullptr, v[c]);
  }
  if (params.salt > 0.0f) {
    const Philox::Words words = pixel_words(params, PixelLane::kSalt, 0, at);
    for (int c = 0; c < n && is_salted(params, words.v[0]); ++c) v[c] = salt_at(params, words.v[1], c0 + c);
  }
  return true;
}

}  // namespace cortado::data
