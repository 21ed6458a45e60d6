#pragma once

// Products of 32-bit floats on AMX, whose tiles multiply bfloat16. Each operand is split into three bfloat16 parts,
// which together hold all of its 24 bits. Of the nine products of parts the six largest are summed; the omitted rest is
// less than 2^-22 of a product. (Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations", 2019.) An infinite operand yields NaN, and parts below 2^-126 count as zero.
//
// Defines CORTADO_WITH_AMX if the compiler may use AMX and AVX-512.

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BW__)
#define CORTADO_WITH_AMX

#include <immintrin.h>

#include <cstdint>

namespace cortado::kernels::amx {

constexpr int kParts = 3;
constexpr int64_t kRow = 64;  ///< bytes of a tile row: 32 bfloat16 or 16 floats
constexpr int64_t kRows = 16;
constexpr int64_t kTile = kRows * kRow;  ///< bytes
constexpr int64_t kDepth = 32;           ///< products that one step adds to each element

/// Whether this process may use tiles: the CPU supports them, and the kernel permits it.
bool is_here();

/// Configures full tiles for the calling thread during its lifetime.
class Tiles {
 public:
  Tiles();
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// The upper halves of sixteen floats: their largest bfloat16 parts, truncated.
inline __m512i upper(__m512 v) { return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(int(0xffff0000))); }
/// The remainder.
inline __m512 rest(__m512 v) { return _mm512_sub_ps(v, _mm512_castsi512_ps(upper(v))); }

/// Splits a row of the left operand, 32 values along the sum, into a row per part: at `to`, and every `apart` bytes.
inline void split_row(__m512 first, __m512 second, char* to, int64_t apart) {
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i order = _mm512_load_si512(kUpper);
  for (int part = 0; part < kParts; ++part, to += apart) {
    _mm512_store_si512(to, _mm512_permutex2var_epi16(_mm512_castps_si512(first), order, _mm512_castps_si512(second)));
    first = rest(first), second = rest(second);
  }
}

/// Splits a row of the right operand, 16 columns of two adjacent values along the sum, into a row per part.
inline void split_pair(__m512 even, __m512 odd, char* to, int64_t apart) {
  for (int part = 0; part < kParts; ++part, to += apart) {
    _mm512_store_si512(to, _mm512_or_si512(_mm512_maskz_srli_epi32(0xffff, _mm512_castps_si512(even), 16), upper(odd)));
    even = rest(even), odd = rest(odd);
  }
}

/// Transposes 16 x 16 values.
inline void transpose(__m512 (&rows)[16]) {
  constexpr __mmask16 kAll = 0xffff;  // avoids a warning of GCC 12 about its own header
  __m512 twos[16], fours[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    twos[i] = _mm512_maskz_unpacklo_ps(kAll, rows[i], rows[i + 1]);
    twos[i + 1] = _mm512_maskz_unpackhi_ps(kAll, rows[i], rows[i + 1]);
  }
  const auto low = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, _mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
  const auto high = [](__m512 a, __m512 b) {
    return _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, _mm512_castps_pd(a), _mm512_castps_pd(b)));
  };
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    fours[i] = low(twos[i], twos[i + 2]), fours[i + 1] = high(twos[i], twos[i + 2]);
    fours[i + 2] = low(twos[i + 1], twos[i + 3]), fours[i + 3] = high(twos[i + 1], twos[i + 3]);
  }
  // Quarter q of fours[i + j] has column 4 q + j of rows i to i + 3.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 even = _mm512_maskz_shuffle_f32x4(kAll, fours[j], fours[4 + j], 0x88),
                 odd = _mm512_maskz_shuffle_f32x4(kAll, fours[j], fours[4 + j], 0xdd),
                 more_even = _mm512_maskz_shuffle_f32x4(kAll, fours[8 + j], fours[12 + j], 0x88),
                 more_odd = _mm512_maskz_shuffle_f32x4(kAll, fours[8 + j], fours[12 + j], 0xdd);
    rows[j] = _mm512_maskz_shuffle_f32x4(kAll, even, more_even, 0x88);
    rows[4 + j] = _mm512_maskz_shuffle_f32x4(kAll, odd, more_odd, 0x88);
    rows[8 + j] = _mm512_maskz_shuffle_f32x4(kAll, even, more_even, 0xdd);
    rows[12 + j] = _mm512_maskz_shuffle_f32x4(kAll, odd, more_odd, 0xdd);
  }
}

/// A column of left tiles: the address, and in bytes the distances of parts, rows and tiles. Step s of the sum begins
/// at steps[s].
struct Left {
  const char* at;
  const int64_t* steps;
  int64_t apart, row = kRow, next = kTile;
};
/// Up to two adjacent right tiles. The tiles of a step's parts are contiguous, and so are steps.
struct Right {
  const char* at;
  int64_t next;
};

/// kDown x kAcross tiles of c (contiguous, 256 floats each) = the sum over `count` steps of a b.
template <int kDown, int kAcross>
void multiply(const Left& a, const Right& b, int64_t count, float* c) {
  asm volatile("" ::: "memory");  // the compiler does not know what tiles read
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const auto load_a = [&](const char* at) {
    _tile_loadd(4, at, a.row);
    if constexpr (kDown > 1) _tile_loadd(5, at + a.next, a.row);
  };
  const auto load_b = [&](const char* at) {
    _tile_loadd(6, at, kRow);
    if constexpr (kAcross > 1) _tile_loadd(7, at + b.next, kRow);
  };
  const auto add = [] {
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kAcross > 1) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kDown > 1) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kDown > 1 && kAcross > 1) _tile_dpbf16ps(3, 5, 7);
  };
  const char* right = b.at;
  for (int64_t s = 0; s < count; ++s, right += kParts * kTile) {
    const char* left = a.at + a.steps[s];
    load_a(left), load_b(right + 2 * kTile), add();
    load_b(right + kTile), add();
    load_b(right), add();
    load_a(left + a.apart), add();
    load_b(right + kTile), add();
    load_a(left + 2 * a.apart), load_b(right), add();
  }
  _tile_stored(0, c, kRow);
  if constexpr (kAcross > 1) _tile_stored(1, c + 256, kRow);
  if constexpr (kDown > 1) _tile_stored(2, c + 512, kRow);
  if constexpr (kDown > 1 && kAcross > 1) _tile_stored(3, c + 768, kRow);
}

/// Like multiply(), with one or two tiles on each side at run time.
inline void multiply(bool two_down, bool two_across, const Left& a, const Right& b, int64_t count, float* c) {
  if (two_down && two_across) return multiply<2, 2>(a, b, count, c);
  if (two_down) return multiply<2, 1>(a, b, count, c);
  if (two_across) return multiply<1, 2>(a, b, count, c);
  multiply<1, 1>(a, b, count, c);
}

/// Contiguous tiles of parts: of every step, or two steps in turn.
struct RightSteps {
  char* at;
  bool in_turn;
  char* of(int64_t step) const { return at + (in_turn ? step & 1 : step) * kParts * kTile; }
};

constexpr int64_t kMaxDown = 4;  ///< tiles per column

/// kDown tiles of c (contiguous, 256 floats each) = the sum over `count` steps of a b. make(s, q, to) prepares a
/// quarter of the right tiles of step s while the previous step is multiplied, which hides its cost. With few tiles
/// each has several sums, because dependent sums do not fill the unit. Operands are passed by value, because the
/// compiler does not know what tile instructions write and would reload them in each step.
template <int kDown, typename Make>
void multiply_column(Left a, RightSteps b, int64_t count, const Make& make, float* c) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int quarter = 0; quarter < 4; ++quarter) make(int64_t(0), quarter, b.of(0));
  for (int64_t s = 0; s < count; ++s) {
    asm volatile("" ::: "memory");  // the compiler does not know what tiles read
    const char *left = a.at + a.steps[s], *right = b.of(s);
    const auto make_next = [&](int quarter) {
      if (s + 1 < count) make(s + 1, quarter, b.of(s + 1));
    };
    _tile_loadd(4, right, kRow);
    _tile_loadd(5, right + kTile, kRow);
    _tile_loadd(6, right + 2 * kTile, kRow);
// Six products of a tile's parts: large ones to one sum, middle and small ones to others. A macro, because tile numbers
// are part of the instructions.
#define CORTADO_ADD_PRODUCTS(tile, large, middle, small)     \
  _tile_loadd(7, left + (tile)*a.next, a.row);               \
  _tile_dpbf16ps(small, 7, 6);                               \
  _tile_dpbf16ps(middle, 7, 5);                              \
  _tile_dpbf16ps(large, 7, 4);                               \
  _tile_loadd(7, left + (tile)*a.next + a.apart, a.row);     \
  _tile_dpbf16ps(small, 7, 5);                               \
  _tile_dpbf16ps(middle, 7, 4);                              \
  _tile_loadd(7, left + (tile)*a.next + 2 * a.apart, a.row); \
  _tile_dpbf16ps(small, 7, 4);
    if constexpr (kDown == 1) {
      CORTADO_ADD_PRODUCTS(0, 0, 1, 2)
    } else if constexpr (kDown == 2) {
      CORTADO_ADD_PRODUCTS(0, 0, 0, 2)
      make_next(0);
      CORTADO_ADD_PRODUCTS(1, 1, 1, 3)
    } else {
      CORTADO_ADD_PRODUCTS(0, 0, 0, 0)
      make_next(0);
      CORTADO_ADD_PRODUCTS(1, 1, 1, 1)
      make_next(1);
      CORTADO_ADD_PRODUCTS(2, 2, 2, 2)
    }
    if constexpr (kDown < 2) make_next(0);
    if constexpr (kDown < 3) make_next(1);
    make_next(2);
    if constexpr (kDown > 3) {
      CORTADO_ADD_PRODUCTS(3, 3, 3, 3)
    }
    make_next(3);
#undef CORTADO_ADD_PRODUCTS
  }
  _tile_stored(0, c, kRow);
  _tile_stored(1, c + 256, kRow);
  _tile_stored(2, c + 512, kRow);
  _tile_stored(3, c + 768, kRow);
  asm volatile("" ::: "memory");
  if constexpr (kDown < 3)
    for (int i = 0; i < kDown * 256; ++i) c[i] += kDown == 2 ? c[512 + i] : c[256 + i] + c[512 + i];
}

/// Like multiply_column(), for one to four tiles at run time; `c` has room for four.
template <typename Make>
void multiply_column(int64_t down, const Left& a, const RightSteps& b, int64_t count, const Make& make, float* c) {
  if (down == 4) return multiply_column<4>(a, b, count, make, c);
  if (down == 3) return multiply_column<3>(a, b, count, make, c);
  if (down == 2) return multiply_column<2>(a, b, count, make, c);
  multiply_column<1>(a, b, count, make, c);
}

}  // namespace cortado::kernels::amx

#endif
