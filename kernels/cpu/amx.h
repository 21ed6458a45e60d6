#pragma once

// Products of 32-bit floats on AMX, whose tiles multiply bfloat16: each operand is split into three of those, which
// together hold all of its 24 bits, and of the nine products of parts the six largest are summed. What is left out is
// less than 2^-22 of a product. (Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations", 2019.) An infinite operand gives NaN.
//
// Only where the compiler may use AMX and AVX-512: CORTADO_WITH_AMX.

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BW__)
#define CORTADO_WITH_AMX

#include <immintrin.h>

#include <cstdint>

namespace cortado::kernels::amx {

constexpr int kParts = 3;
constexpr int64_t kRow = 64;  ///< bytes of a tile's row: 32 bfloat16 or 16 floats
constexpr int64_t kRows = 16;
constexpr int64_t kTile = kRows * kRow;  ///< bytes
constexpr int64_t kDepth = 32;           ///< products that one step adds to each element

/// Whether this process may use tiles: the CPU has them, and the system grants their registers.
bool is_here();

/// The calling thread's tiles are whole ones within its life.
class Tiles {
 public:
  Tiles();
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// The upper halves of sixteen floats: their largest part, which has their sign.
inline __m512i upper(__m512 v) { return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(int(0xffff0000))); }
/// What is left of them.
inline __m512 rest(__m512 v) { return _mm512_sub_ps(v, _mm512_castsi512_ps(upper(v))); }

/// A row of the left operand, 32 values along the sum, as a row of each part: `to`, and every `apart` bytes.
inline void split_row(__m512 first, __m512 second, char* to, int64_t apart) {
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i order = _mm512_load_si512(kUpper);
  for (int part = 0; part < kParts; ++part, to += apart) {
    _mm512_store_si512(to, _mm512_permutex2var_epi16(_mm512_castps_si512(first), order, _mm512_castps_si512(second)));
    first = rest(first), second = rest(second);
  }
}

/// A row of the right operand, sixteen columns of two neighbours along the sum, as a row of each part.
inline void split_pair(__m512 even, __m512 odd, char* to, int64_t apart) {
  for (int part = 0; part < kParts; ++part, to += apart) {
    _mm512_store_si512(to, _mm512_or_si512(_mm512_maskz_srli_epi32(0xffff, _mm512_castps_si512(even), 16), upper(odd)));
    even = rest(even), odd = rest(odd);
  }
}

/// kDown x kAcross tiles of c (one after the other, 256 floats each) = the sum over `count` steps of a b. Step s of a
/// begins at a + steps[s], its parts lie `apart` bytes apart, its tiles' rows one after the other; b has the tiles of
/// its parts one after the other for each step, and its columns `next` bytes apart.
template <int kDown, int kAcross>
void multiply(const char* a, const int64_t* steps, int64_t count, int64_t apart, const char* b, int64_t next,
              float* c) {
  asm volatile("" ::: "memory");  // the compiler does not know what tiles read
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const auto load_a = [&](const char* at) {
    _tile_loadd(4, at, kRow);
    if constexpr (kDown > 1) _tile_loadd(5, at + kTile, kRow);
  };
  const auto load_b = [&](const char* at) {
    _tile_loadd(6, at, kRow);
    if constexpr (kAcross > 1) _tile_loadd(7, at + next, kRow);
  };
  const auto add = [] {
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kAcross > 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kDown > 1) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kDown > 1 && kAcross > 1) _tile_dpbf16ps(3, 5, 7);
  };
  for (int64_t s = 0; s < count; ++s, b += kParts * kTile) {
    const char* from = a + steps[s];
    load_a(from), load_b(b + 2 * kTile), add();
    load_b(b + kTile), add();
    load_b(b), add();
    load_a(from + apart), add();
    load_b(b + kTile), add();
    load_a(from + 2 * apart), load_b(b), add();
  }
  _tile_stored(0, c, kRow);
  if constexpr (kAcross > 1) _tile_stored(1, c + 256, kRow);
  if constexpr (kDown > 1) _tile_stored(2, c + 512, kRow);
  if constexpr (kDown > 1 && kAcross > 1) _tile_stored(3, c + 768, kRow);
}

}  // namespace cortado::kernels::amx

#endif
