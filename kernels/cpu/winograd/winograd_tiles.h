#pragma once

// Between blocked tensors and the tiles of Winograd's algorithm: sixteen channels of a square of places, read with
// zeros outside of the image, and written as far as the image goes.

#include "kernels/cpu/blocked_product.h"
#include "kernels/cpu/vec16f.h"

namespace cortado::kernels {

inline int64_t blocks_of(int64_t channels) { return (channels + kLanes - 1) / kLanes; }

/// One block of sixteen channels of one image.
template <typename Float>
struct Plane {
  Float* data;
  int64_t height, width;

  Float* at(int64_t h, int64_t w) const { return data + (h * width + w) * kLanes; }
};

template <int kSize>
[[gnu::always_inline]] inline void load_tile(const Plane<const float>& plane, int64_t h, int64_t w,
                                             Vec16f (&tile)[kSize][kSize]) {
  if (h >= 0 && w >= 0 && h + kSize <= plane.height && w + kSize <= plane.width) {
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) tile[i][j] = load(plane.at(h + i, w + j));
    return;
  }
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      const bool inside = h + i >= 0 && h + i < plane.height && w + j >= 0 && w + j < plane.width;
      tile[i][j] = inside ? load(plane.at(h + i, w + j)) : Vec16f{};
    }
}

/// tile += what the plane holds there.
template <int kSize>
[[gnu::always_inline]] inline void add_tile(const Plane<float>& plane, int64_t h, int64_t w,
                                            Vec16f (&tile)[kSize][kSize]) {
  Vec16f old[kSize][kSize];
  load_tile(Plane<const float>{plane.data, plane.height, plane.width}, h, w, old);
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kSize; ++j) tile[i][j] += old[i][j];
}

template <int kSize>
[[gnu::always_inline]] inline void store_tile(const Plane<float>& plane, int64_t h, int64_t w,
                                              const Vec16f (&tile)[kSize][kSize]) {
  if (h + kSize <= plane.height && w + kSize <= plane.width) {
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) store(plane.at(h + i, w + j), tile[i][j]);
    return;
  }
  for (int i = 0; i < kSize && h + i < plane.height; ++i)
    for (int j = 0; j < kSize && w + j < plane.width; ++j) store(plane.at(h + i, w + j), tile[i][j]);
}

/// For each of kSize x kSize frequencies a matrix of `rows` rows (tiles, or channels) in blocks of sixteen columns.
/// The matrices lie an odd number of cache lines apart, so that a tile's elements do not meet in one set of the cache.
template <int kSize>
struct Spectrum {
  static constexpr int kFrequencies = kSize * kSize;

  float* data = nullptr;
  int64_t rows = 0, blocks = 0;

  static int64_t step(int64_t rows, int64_t blocks) { return (rows * blocks | 1) * kLanes; }
  static int64_t bytes(int64_t rows, int64_t blocks) {
    return kFrequencies * step(rows, blocks) * int64_t(sizeof(float));
  }
  BlockedMatrix<float> matrix(int frequency) const { return {data + frequency * step(rows, blocks), rows}; }
  BlockedMatrix<const float> operand(int frequency) const { return {data + frequency * step(rows, blocks), rows}; }

  [[gnu::always_inline]] void store_at(int64_t row, int64_t block, const Vec16f (&tile)[kSize][kSize]) const {
    float* to = data + (block * rows + row) * kLanes;
    const int64_t apart = step(rows, blocks);
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) store(to + (i * kSize + j) * apart, tile[i][j]);
  }
  [[gnu::always_inline]] void load_at(int64_t row, int64_t block, Vec16f (&tile)[kSize][kSize]) const {
    const float* from = data + (block * rows + row) * kLanes;
    const int64_t apart = step(rows, blocks);
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) tile[i][j] = load(from + (i * kSize + j) * apart);
  }
};

}  // namespace cortado::kernels
