#pragma once

// Loads and stores of Winograd tiles in blocked tensors: a register of channels, one part of a block's 16, of a square
// of positions. Reads zeros outside the image and writes only inside it.

#include "kernels/cpu/bfloat16.h"
#include "kernels/cpu/blocked_product.h"

namespace cortado::kernels {

/// One block of 16 channels of one image, from the first channel of a part on.
template <typename Float>
struct Plane {
  Float* data;
  int64_t height, width;

  Float* at(int64_t h, int64_t w) const { return data + (h * width + w) * kLanes; }
};

/// Loads a register of floats from any storage type.
[[gnu::always_inline]] inline RegisterVec load_register(const float* p) { return load<RegisterVec>(p); }
#ifdef __AVX512F__
[[gnu::always_inline]] inline RegisterVec load_register(const BFloat16* p) { return load(p); }
#endif

template <typename T, int kSize>
[[gnu::always_inline]] inline void load_tile(const Plane<const T>& plane, int64_t h, int64_t w,
                                             RegisterVec (&tile)[kSize][kSize]) {
  if (h >= 0 && w >= 0 && h + kSize <= plane.height && w + kSize <= plane.width) {
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kSize; ++j) tile[i][j] = load_register(plane.at(h + i, w + j));
    return;
  }
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      const bool inside = h + i >= 0 && h + i < plane.height && w + j >= 0 && w + j < plane.width;
      tile[i][j] = inside ? load_register(plane.at(h + i, w + j)) : RegisterVec{};
    }
}

/// tile += the plane at (h, w).
template <typename T, int kSize>
[[gnu::always_inline]] inline void add_tile(const Plane<T>& plane, int64_t h, int64_t w,
                                            RegisterVec (&tile)[kSize][kSize]) {
  RegisterVec old[kSize][kSize];
  load_tile(Plane<const T>{plane.data, plane.height, plane.width}, h, w, old);
#pragma GCC unroll 8
  for (int i = 0; i < kSize; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < kSize; ++j) tile[i][j] += old[i][j];
}

template <typename T, int kSize>
[[gnu::always_inline]] inline void store_tile(const Plane<T>& plane, int64_t h, int64_t w,
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

/// A matrix per frequency (kSize x kSize), of `rows` rows (tiles or channels) in blocks of 16 columns. The matrices are
/// an odd number of cache lines apart, so that a tile's elements fall into different cache sets.
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

/// How spectra of values stored as T are stored and multiplied. Left operands have a row per tile. In pairs, a word
/// holds several rows that are summed by a product.
template <typename T, int kSize>
struct Form;

template <int kSize>
struct Form<float, kSize> {
  using Terms = FloatTerms;
  using Left = Spectrum<kSize>;
  using Pairs = Spectrum<kSize>;
  static constexpr int kTogether = 1;
  [[gnu::always_inline]] static void store(const Pairs& to, int64_t row, int64_t block, int part,
                                           const RegisterVec (&tiles)[kTogether][kSize][kSize]) {
    to.store_at(row, block, part, tiles[0]);
  }
};

#ifdef __AVX512BF16__

/// A spectrum of bfloat16 values for PairTerms, in words of two. With kRowWords = 8 a row has 16 columns. With 16 it
/// has two rows: a word is one column of both.
template <int kSize, int kRowWords>
struct HalfSpectrum {
  static constexpr int kFrequencies = kSize * kSize;

  uint32_t* data = nullptr;
  int64_t rows = 0, blocks = 0;

  static int64_t step(int64_t rows, int64_t blocks) {
    return (ceil_of(rows * blocks * kRowWords, kLanes) | 1) * kLanes;
  }
  static int64_t bytes(int64_t rows, int64_t blocks) {
    return kFrequencies * step(rows, blocks) * int64_t(sizeof(uint32_t));
  }
  BlockedMatrix<const uint32_t> operand(int frequency) const { return {data + frequency * step(rows, blocks), rows}; }

  [[gnu::always_inline]] void store_at(int64_t row, int64_t block, int, const RegisterVec (&tile)[kSize][kSize]) const {
    static_assert(kRowWords == PairTerms::kRow);
#pragma GCC unroll 8
    for (int f = 0; f < kFrequencies; ++f)
      store(reinterpret_cast<BFloat16*>(at(row, block, f)), tile[f / kSize][f % kSize]);
  }
  [[gnu::always_inline]] void store_pair_at(int64_t row, int64_t block, const RegisterVec (&first)[kSize][kSize],
                                            const RegisterVec (&second)[kSize][kSize]) const {
    static_assert(kRowWords == kLanes);
#pragma GCC unroll 8
    for (int f = 0; f < kFrequencies; ++f)
      _mm512_storeu_si512(at(row, block, f), pairs_of(first[f / kSize][f % kSize], second[f / kSize][f % kSize]));
  }

 private:
  uint32_t* at(int64_t row, int64_t block, int frequency) const {
    return data + frequency * step(rows, blocks) + (block * rows + row) * kRowWords;
  }
  static __m512i pairs_of(const RegisterVec& low, const RegisterVec& high) {
    return __m512i(bits_of(low) | bits_of(high) << 16);
  }
  static Vec16i bits_of(const RegisterVec& v) {
    return Vec16i(_mm512_maskz_cvtepu16_epi32(__mmask16(0xffff), __m256i(_mm512_cvtneps_pbh(__m512(v)))));
  }
};

template <int kSize>
struct Form<BFloat16, kSize> {
  using Terms = PairTerms;
  using Left = HalfSpectrum<kSize, PairTerms::kRow>;
  using Pairs = HalfSpectrum<kSize, kLanes>;
  static constexpr int kTogether = 2;
  [[gnu::always_inline]] static void store(const Pairs& to, int64_t row, int64_t block, int,
                                           const RegisterVec (&tiles)[kTogether][kSize][kSize]) {
    to.store_pair_at(row, block, tiles[0], tiles[1]);
  }
};

#endif

}  // namespace cortado::kernels
