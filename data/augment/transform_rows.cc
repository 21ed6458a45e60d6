// Reads a row of every channel, changes its colours, adds noise, erases, and subtracts the mean. Each step is a loop
// around the function of data/augment/augment.h for one pixel, so the results are the same as on a device.
#include "data/augment/transform_rows.h"

#include "data/augment/read_rows.h"

namespace cortado::data {

namespace {

template <typename Function>
void for_row(float* __restrict b, float* __restrict g, float* __restrict r, int n, const Function& function) {
#pragma GCC ivdep
  for (int i = 0; i < n; ++i) function(b[i], g[i], r[i]);
}

void color_row(const ColorOp& given, const uint8_t (*table)[256], float* b, float* g, float* r, int n) {
  const ColorOp op = given;
  switch (op.kind) {
    case ColorKind::kMatrix:
      return for_row(b, g, r, n, [&](float& x, float& y, float& z) { apply_matrix(op.v, x, y, z); });
    case ColorKind::kPosterize:
      return for_row(b, g, r, n, [&](float& x, float& y, float& z) {
        x = posterized(op.v, x), y = posterized(op.v, y), z = posterized(op.v, z);
      });
    case ColorKind::kSolarize:
      return for_row(b, g, r, n, [&](float& x, float& y, float& z) {
        x = solarized(op.v, x), y = solarized(op.v, y), z = solarized(op.v, z);
      });
    default:
      return for_row(b, g, r, n, [&](float& x, float& y, float& z) { apply_color(op, table, x, y, z); });
  }
}

void noise_row(const AugmentParams& params, bool bytes, int y, int n, float* const* rows, int channels) {
  for (int c0 = 0; c0 < channels; c0 += 4)
    for (int x = 0; x < n; ++x) {
      const Philox::Words words = pixel_words(params, PixelLane::kNoise, c0 / 4, int64_t(y) * n + x);
      for (int c = c0; c < channels && c < c0 + 4; ++c)
        rows[c][x] = with_noise(params, words.v[c - c0], bytes, rows[c][x]);
    }
}

void salt_row(const AugmentParams& params, int y, int n, float* const* rows, int channels) {
  for (int x = 0; x < n; ++x) {
    const Philox::Words words = pixel_words(params, PixelLane::kSalt, 0, int64_t(y) * n + x);
    for (int c = 0; c < channels && is_salted(params, words.v[0]); ++c) rows[c][x] = salt_at(params, words.v[1], c);
  }
}

void erase_row(const AugmentParams& params, int y, float* const* rows, int channels) {
  for (int x = params.erased.left; x < params.erased.left + params.erased.width; ++x)
    for (int c = 0; c < channels; ++c) {
      const int64_t at = int64_t(y) * params.out_width + x;
      rows[c][x] = float(pixel_words(params, PixelLane::kErased, c / 4, at).v[c % 4] >> 24);
    }
}

/// x = (x - mean) * scale, with the mean image read in the direction of the map.
void normalize_row(const TransformPlan& plan, const AugmentParams& params, int c, int y, float* x) {
  const int n = params.out_width;
  const float scale = plan.scale;
  if (plan.mean) {
    const int64_t row = params.mean_top + y * (params.map[4] < 0 ? -1 : 1), step = params.map[0] < 0 ? -1 : 1;
    const float* mean = mean_at(*plan.mean, c, row, params.mean_left);
    for (int i = 0; i < n; ++i) x[i] = (x[i] - mean[i * step]) * scale;
  } else {
    const float mean = mean_value(plan, c);
    for (int i = 0; i < n; ++i) x[i] = (x[i] - mean) * scale;
  }
}

/// Rows of floats, reused for all samples.
struct Rows {
  std::vector<float> memory;
  std::vector<float*> pointers;

  /// Allocates two more rows than channels, for blue and red of images with one channel.
  void set(int channels, int width) {
    memory.resize(size_t(channels + 2) * size_t(width));
    pointers.clear();
    for (int c = 0; c < channels + 2; ++c) pointers.push_back(memory.data() + size_t(c) * size_t(width));
  }
};

/// Applies the operations from `begin` to `end`.
void color_rows(const AugmentParams& params, int begin, int end, Rows& rows, int channels) {
  float* const* row = rows.pointers.data();
  const int n = params.out_width;
  for (int i = begin; i < end; ++i) {
    if (channels == 1) {
      std::copy(row[0], row[0] + n, row[1]);
      std::copy(row[0], row[0] + n, row[2]);
      color_row(params.color[i], params.table, row[1], row[0], row[2], n);
    } else {
      color_row(params.color[i], params.table, row[0], row[1], row[2], n);
    }
  }
}

}  // namespace

void transform_rows(const Sample& sample, const TransformPlan& plan, const AugmentParams& params, float* out) {
  thread_local RowReader reader;
  thread_local Rows rows;
  const int channels = sample.channels, n = params.out_width;
  const Erased& erased = params.erased;
  rows.set(channels, n);
  float* const* row = rows.pointers.data();
  reader.begin(sample, params);
  const RowWriter writer(int64_t(channels) * params.out_height * n);
  for (int y = 0; y < params.out_height; ++y) {
    const bool erases = y >= erased.top && y < erased.top + erased.height;
    reader.read(y, row);
    if (params.image_color_ops > 0) {
      color_rows(params, 0, params.image_color_ops, rows, channels);
      reader.refill(y, row);
    }
    color_rows(params, params.image_color_ops, params.color_ops, rows, channels);
    if (params.noise > 0) noise_row(params, sample.bytes != nullptr, y, n, row, channels);
    if (params.salt > 0) salt_row(params, y, n, row, channels);
    if (erases && erased.noise) erase_row(params, y, row, channels);
    for (int c = 0; c < channels; ++c) {
      normalize_row(plan, params, c, y, row[c]);
      if (erases && !erased.noise) std::fill(row[c] + erased.left, row[c] + erased.left + erased.width, 0.0f);
      writer.write(row[c], n, out + (int64_t(c) * params.out_height + y) * n);
    }
  }
}

}  // namespace cortado::data
