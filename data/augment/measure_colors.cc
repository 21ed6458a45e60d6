// Statistics for equalization and automatic contrast: histograms of at most 64 x 64 evenly spaced pixels of the result.
// Each is the nearest pixel of the source after the previous colour operations. Other programs use all pixels; this
// needs no second pass over them, and a device receives a table instead of computing one.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/augment_options.h"

namespace cortado::data {

namespace {

constexpr int kGrid = 64;

struct Histograms {
  int counts[3][256] = {};
};

float source_at(const Sample& sample, int c, int64_t row, int64_t column) {
  const int64_t at = sample.interleaved ? (row * sample.width + column) * sample.channels + c
                                        : (c * sample.height + row) * sample.width + column;
  return sample.bytes != nullptr ? float(sample.bytes[at]) : sample.floats[at];
}

/// Counts the pixel at (x, y) of the result, unless it is outside of the source.
void count_pixel(const Sample& sample, const AugmentParams& params, int ops, int64_t x, int64_t y, Histograms& counts) {
  int64_t column = column_place(params, x, y), row = row_place(params, x, y);
  if (!bring_inside(params.border, sample.width, column) || !bring_inside(params.border, sample.height, row)) return;
  float v[3];
  for (int c = 0; c < 3; ++c)
    v[c] = source_at(sample, sample.channels == 3 ? c : 0, (row + kHalfPixel) >> 32, (column + kHalfPixel) >> 32);
  for (int i = 0; i < ops; ++i) apply_color(params.color[i], params.table, v[0], v[1], v[2]);
  for (int c = 0; c < 3; ++c) ++counts.counts[c][int(clamped_color(v[c]) + 0.5f)];
}

Histograms histograms_of(const Sample& sample, const AugmentParams& params, int ops) {
  Histograms counts;
  const int rows = std::min(kGrid, params.out_height), columns = std::min(kGrid, params.out_width);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      count_pixel(sample, params, ops, (2 * k + 1) * params.out_width / (2 * columns),
                  (2 * i + 1) * params.out_height / (2 * rows), counts);
  return counts;
}

/// Maps the minimum and maximum of each channel to 0 and 255.
void stretch(const Histograms& counts, ColorOp& op) {
  op = ColorOp();
  for (int c = 0; c < 3; ++c) {
    int low = 0, high = 255;
    while (low < 255 && counts.counts[c][low] == 0) ++low;
    while (high > 0 && counts.counts[c][high] == 0) --high;
    const float factor = high > low ? 255.0f / float(high - low) : 1.0f;
    op.v[4 * c + c] = factor;
    op.v[4 * c + 3] = high > low ? -float(low) * factor : 0.0f;
  }
}

/// Distributes the pixels evenly over the grey levels, as far as possible.
void equalize(const int* counts, uint8_t* table) {
  int last = 255, total = 0, below = 0;
  while (last > 0 && counts[last] == 0) --last;
  for (int i = 0; i < 256; ++i) total += counts[i];
  const double step = (total - counts[last]) / 255.0;
  for (int i = 0; i < 256; ++i) {
    table[i] = step > 0 ? uint8_t(std::min(255.0, below / step + 0.5)) : uint8_t(i);
    below += counts[i];
  }
}

bool measures(const ColorOp& op) { return op.kind == ColorKind::kAutoContrast || op.kind == ColorKind::kEqualize; }

}  // namespace

bool measures_colors(const AugmentParams& params) {
  return std::any_of(params.color, params.color + params.color_ops, measures);
}

void measure_colors(const Sample& sample, AugmentParams& params) {
  for (int i = 0; i < params.color_ops; ++i) {
    ColorOp& op = params.color[i];
    if (!measures(op)) continue;
    const Histograms counts = histograms_of(sample, params, i);
    if (op.kind == ColorKind::kAutoContrast)
      stretch(counts, op);
    else
      for (int c = 0; c < 3; ++c) equalize(counts.counts[c], params.table[c]);
  }
}

}  // namespace cortado::data
