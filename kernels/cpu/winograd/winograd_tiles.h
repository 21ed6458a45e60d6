#pragma once

// Between blocked tensors and the tiles of Winograd's algorithm: as many channels of a square of places as a register
// holds, one part of a block's sixteen, read with zeros outside of the image, and written as far as the image goes.

#include "kernels/cpu/blocked_product.h"
#include "kernels/cpu/vec16f.h"

namespace cortado::kernels {

/// One block of sixteen channels of one image, from the first channel of a part on.
template <typename Float>
struct Plane {
  Float* data;
  int64_t height, width;

  Float* at(int64_t h, int64_t w) const { return data + (h * width + w) * kLanes; }
};

template <int kSize>
[[gnu::always_inline]] inline void load_tile(const Plane<const float>& plane, int64_t h, int64_t w,
                                             RegisterVec (&tile)[kSize][kSize]) {
  if (h >= 0 && w >= 0 && h + kSize <= plane.height && w + kSize <= plane.width) {
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) tile[i][j] = load<RegisterVec>(plane.at(h + i, w + j));
    return;
  }
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      const bool inside = h + i >= 0 && h + i < plane.height && w + j >= 0 && w + j < plane.width;
      tile[i][j] = inside ? load<RegisterVec>(plane.at(h + i, w + j)) : RegisterVec{};
    }
}

/// tile += what the plane holds there.
template <int kSize>
[[gnu::always_inline]] inline void add_tile(const Plane<float>& plane, int64_t h, int64_t w,
                                            RegisterVec (&tile)[kSize][kSize]) {
  RegisterVec old[kSize][kSize];
  load_tile(Plane<const float>{plane.data, plane.height, plane.width}, h, w, old);
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kSize; ++j) tile[i][j] += old[i][j];
}

template <int kSize>
[[gnu::always_inline]] inline void store_tile(const Plane<float>& plane, int64_t h, int64_t w,
                                              const RegisterVec (&tile)[kSize][kSize]) {
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

  [[gnu::always_inline]] void store_at(int64_t row, int64_t block, int part,
                                       const RegisterVec (&tile)[kSize][kSize]) const {
    float* to = data + (block * rows + row) * kLanes + part * kWidth;
    const int64_t apart = step(rows, blocks);
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) store(to + (i * kSize + j) * apart, tile[i][j]);
  }
  [[gnu::always_inline]] void load_at(int64_t row, int64_t block, int part, RegisterVec (&tile)[kSize][kSize]) const {
    const float* from = data + (block * rows + row) * kLanes + part * kWidth;
    const int64_t apart = step(rows, blocks);
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) tile[i][j] = load<RegisterVec>(from + (i * kSize + j) * apart);
  }
};

}  // namespace cortado::kernels
