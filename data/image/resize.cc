// Bilinear: pixel i of the output is at (i + 1/2) * in / out - 1/2 of the input, between two neighbours that are
// clamped to the edge. Horizontally first, two rows at a time, then vertically. No smoothing when shrinking, like
// cv::resize.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "data/image/image.h"

namespace cortado::data {

namespace {

/// The position of an output coordinate: value = x[low] + (x[high] - x[low]) * weight.
struct Tap {
  int low, high;
  float weight;
};

std::vector<Tap> taps_for(int in, int out) {
  std::vector<Tap> taps(static_cast<size_t>(out));
  const double scale = double(in) / out;
  for (int i = 0; i < out; ++i) {
    const double at = std::clamp((i + 0.5) * scale - 0.5, 0.0, double(in - 1));
    const int low = int(at);
    taps[size_t(i)] = {low, std::min(low + 1, in - 1), float(at - low)};
  }
  return taps;
}

void resize_row(const uint8_t* x, int channels, const std::vector<Tap>& taps, float* out) {
  for (const Tap& tap : taps) {
    const uint8_t *low = x + tap.low * channels, *high = x + tap.high * channels;
    for (int c = 0; c < channels; ++c) *out++ = float(low[c]) + float(high[c] - low[c]) * tap.weight;
  }
}

}  // namespace

void resize_bilinear(const Image& image, int height, int width, Image& out) {
  out.resize(image.channels, height, width);
  const std::vector<Tap> columns = taps_for(image.width, width), rows = taps_for(image.height, height);
  const size_t in_row = size_t(image.width) * size_t(image.channels), out_row = size_t(width) * size_t(image.channels);
  std::vector<float> low(out_row), high(out_row);
  int low_is = -1, high_is = -1;  // the input rows that the two contain
  for (int y = 0; y < height; ++y) {
    const Tap& tap = rows[size_t(y)];
    if (low_is != tap.low && high_is == tap.low) {
      std::swap(low, high);
      std::swap(low_is, high_is);
    }
    if (low_is != tap.low) resize_row(&image.pixels[size_t(tap.low) * in_row], image.channels, columns, low.data());
    if (high_is != tap.high) resize_row(&image.pixels[size_t(tap.high) * in_row], image.channels, columns, high.data());
    low_is = tap.low;
    high_is = tap.high;
    uint8_t* to = &out.pixels[size_t(y) * out_row];
    for (size_t i = 0; i < out_row; ++i) to[i] = uint8_t(low[i] + (high[i] - low[i]) * tap.weight + 0.5f);
  }
}

}  // namespace cortado::data
