#include "layers/common/data/float_image.h"

#include <algorithm>
#include <cmath>

#include "core/threads/threads.h"

namespace cortado {

namespace {

constexpr double kCubicSlope = -0.75;

/// The neighbours of a position along one axis: pixels from `first` on, and their weights.
struct PixelTaps {
  int64_t first;
  float weight[4];
};

PixelTaps pixel_taps(double at, int64_t size, bool cubic) {
  at = std::clamp(at, -4.0, double(size) + 3);  // beyond, all neighbours are outside as well
  const double low = std::floor(at), f = at - low;
  if (!cubic) return {int64_t(low), {float(1 - f), float(f), 0, 0}};
  const auto near = [](double d) { return ((kCubicSlope + 2) * d - (kCubicSlope + 3)) * d * d + 1; };
  const auto far = [](double d) { return kCubicSlope * (((d - 5) * d + 8) * d - 4); };
  return {int64_t(low) - 1, {float(far(1 + f)), float(near(f)), float(near(1 - f)), float(far(2 - f))}};
}

float sampled(const float* plane, int64_t height, int64_t width, const PixelTaps& x, const PixelTaps& y,
              const Sampling& sampling) {
  const int taps = sampling.cubic ? 4 : 2;
  const auto inside = [](int64_t i, int64_t size) { return i >= 0 && i < size; };
  float sum = 0;
  for (int j = 0; j < taps; ++j) {
    const int64_t row = y.first + j, h = std::clamp<int64_t>(row, 0, height - 1);
    for (int i = 0; i < taps; ++i) {
      const int64_t column = x.first + i, w = std::clamp<int64_t>(column, 0, width - 1);
      const bool reads = sampling.repeat_edge || (inside(row, height) && inside(column, width));
      sum += y.weight[j] * x.weight[i] * (reads ? plane[h * width + w] : sampling.fill);
    }
  }
  return sum;
}

}  // namespace

void FloatImage::resize(int64_t c, int64_t h, int64_t w) {
  channels = c, height = h, width = w;
  values.resize(size_t(c * h * w));
}

void warp(Context& context, const FloatImage& image, const data::Affine& back, const Sampling& sampling, int64_t height,
          int64_t width, FloatImage& result) {
  result.resize(image.channels, height, width);
  parallel_ranges(context, height, 8, [&](int64_t begin, int64_t end) {
    for (int64_t h = begin; h < end; ++h)
      for (int64_t w = 0; w < width; ++w) {
        const auto x = double(w), y = double(h);
        const double* m = back.m;
        const PixelTaps across = pixel_taps(m[0] * x + m[1] * y + m[2], image.width, sampling.cubic);
        const PixelTaps down = pixel_taps(m[3] * x + m[4] * y + m[5], image.height, sampling.cubic);
        for (int64_t c = 0; c < image.channels; ++c)
          result.plane(c)[h * width + w] = sampled(image.plane(c), image.height, image.width, across, down, sampling);
      }
  });
}

data::Affine resize_back(const FloatImage& image, int64_t height, int64_t width) {
  const double x = double(image.width) / double(width), y = double(image.height) / double(height);
  return {{x, 0, x / 2 - 0.5, 0, y, y / 2 - 0.5}};
}

void crop(const FloatImage& image, int64_t left, int64_t top, float fill, int64_t height, int64_t width,
          FloatImage& result) {
  result.resize(image.channels, height, width);
  std::fill(result.values.begin(), result.values.end(), fill);
  const int64_t first = std::max<int64_t>(0, -left), end = std::min(width, image.width - left);
  if (first >= end) return;
  for (int64_t c = 0; c < image.channels; ++c)
    for (int64_t h = std::max<int64_t>(0, -top); h < std::min(height, image.height - top); ++h)
      std::copy_n(image.plane(c) + (h + top) * image.width + left + first, end - first,
                  result.plane(c) + h * width + first);
}

void mirror(FloatImage& image) {
  for (int64_t row = 0; row < image.channels * image.height; ++row) {
    float* begin = image.values.data() + row * image.width;
    std::reverse(begin, begin + image.width);
  }
}

}  // namespace cortado
