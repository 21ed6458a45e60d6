#pragma once

// Matrix products on one core, for matrices in blocks of 16 columns: element (row, column) is at [column /
// 16][row][column % 16], as in blocked tensors. The inner kernel keeps a tile of the result in registers and adds one
// column of a times one row of b per step. Tiles are 14 rows by two blocks with AVX-512 (28 of 32 registers), 6 rows by
// one block with AVX and 3 without (12 of 16). Elements are words: floats, or pairs of adjacent bfloat16 values, of
// which the sum of both products is added.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/vec16f.h"

namespace cortado::kernels {

/// One step for words that are floats.
struct FloatTerms {
  using Word = float;
  using Register = RegisterVec;
  static constexpr int kRow = kLanes;  ///< words per row of a block of 16 columns
  [[gnu::always_inline]] static Register load(const float* p) { return kernels::load<RegisterVec>(p); }
  [[gnu::always_inline]] static Register spread(float value) { return kernels::spread<RegisterVec>(value); }
  [[gnu::always_inline]] static void add(RegisterVec& sum, const Register& a, const Register& b) { sum += a * b; }
};

#ifdef __AVX512BF16__
/// One step for pairs, the first value in the lower half. Pairs of a are adjacent in a row, those of b in a column.
struct PairTerms {
  using Word = uint32_t;
  using Register = __m512i;
  static constexpr int kRow = kLanes / 2;
  [[gnu::always_inline]] static Register load(const uint32_t* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static Register spread(uint32_t pair) { return _mm512_set1_epi32(int32_t(pair)); }
  [[gnu::always_inline]] static void add(RegisterVec& sum, const Register& a, const Register& b) {
    sum = RegisterVec(_mm512_dpbf16_ps(__m512(sum), __m512bh(a), __m512bh(b)));
  }
};
#endif

inline int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The number of blocks for `channels` channels.
inline int64_t blocks_of(int64_t channels) { return ceil_of(channels, kLanes); }

/// Transposes 16 x 16 values: weights of one tap between two blocks, for the other direction.
inline void transpose_block(const float* from, float* to) {
  for (int row = 0; row < kLanes; ++row)
    for (int column = 0; column < kLanes; ++column) to[column * kLanes + row] = from[row * kLanes + column];
}

/// A matrix of `rows` rows in blocks of 16 columns. Padding columns are zero.
template <typename Word>
struct BlockedMatrix {
  Word* data = nullptr;
  int64_t rows = 0;

  Word* block(int64_t index) const { return data + index * rows * kLanes; }
};

/// The tile of the result in registers; the rest holds a row of b and one value of a. A transposed product divides 16
/// rows into kTransposedTiles tiles.
#ifdef __AVX512F__
constexpr int kTileRows = 14, kTileBlocks = 2, kTransposedTiles = 2;
#else
constexpr int kTileRows = kWidth == 8 ? 6 : 3, kTileBlocks = 1, kTransposedTiles = kWidth == 8 ? 3 : 6;
#endif

/// Vector v of a row of blocks.
template <typename Float>
[[gnu::always_inline]] inline Float* vector_at(Float* row, int64_t block, int v) {
  return row + v / kRegisters * block + v % kRegisters * kWidth;
}

/// The sums of a tile, in registers.
template <int kRows, int kBlocks>
struct TileSums {
  static constexpr int kVectors = kBlocks * kRegisters;
  RegisterVec sum[kRows][kVectors];

  /// Adds one column of a, with a row stride of a_row words, times one row of b.
  template <typename Terms = FloatTerms>
  [[gnu::always_inline]] void term(const typename Terms::Word* a, int64_t a_row, const typename Terms::Word* b,
                                   int64_t b_block) {
    typename Terms::Register row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = Terms::load(vector_at(b, b_block, v));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const typename Terms::Register value = Terms::spread(a[r * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) Terms::add(sum[r][v], value, row[v]);
    }
  }
};

namespace detail {

/// The operands of one tile.
template <typename Word>
struct TileOperands {
  const Word* a;
  int64_t a_row;  ///< words between rows of a
  const Word* b;
  int64_t b_block;  ///< words between blocks of b
  float* c;
  int64_t c_block;
  bool add;
};

template <int kRows, int kBlocks>
struct Tile : TileSums<kRows, kBlocks> {
  using Base = TileSums<kRows, kBlocks>;
  using Base::kVectors, Base::sum;

  template <typename Word>
  [[gnu::always_inline]] void start(const TileOperands<Word> o) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = o.add ? load<RegisterVec>(vector_at(o.c + r * kLanes, o.c_block, v)) : RegisterVec{};
  }
  template <typename Word>
  [[gnu::always_inline]] void finish(const TileOperands<Word> o) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(vector_at(o.c + r * kLanes, o.c_block, v), sum[r][v]);
  }
};

/// c = a b for kRows rows, summed over the columns of a, block by block.
template <typename Terms, int kRows, int kBlocks>
void tile_of_product(const TileOperands<typename Terms::Word> o, int64_t depth, int64_t a_block) {
  Tile<kRows, kBlocks> tile;
  tile.start(o);
  const typename Terms::Word* b = o.b;
  for (int64_t first = 0; first < depth; first += Terms::kRow) {
    const typename Terms::Word* a = o.a + first / Terms::kRow * a_block;
    const int64_t count = std::min<int64_t>(Terms::kRow, depth - first);
    for (int64_t d = 0; d < count; ++d, b += kLanes) tile.template term<Terms>(a + d, Terms::kRow, b, o.b_block);
  }
  tile.finish(o);
}

/// c = a b for kRows rows of a, whose columns are `a_step` words apart.
template <typename Terms, int kRows, int kBlocks>
void tile_of_strided(const TileOperands<typename Terms::Word> o, int64_t depth, int64_t a_step) {
  Tile<kRows, kBlocks> tile;
  tile.start(o);
  for (int64_t d = 0; d < depth; ++d) tile.template term<Terms>(o.a + d * a_step, o.a_row, o.b + d * kLanes, o.b_block);
  tile.finish(o);
}

/// c = a^T b for kRows columns of a, summed over the rows of both.
template <typename Terms, int kRows, int kBlocks>
void tile_of_transposed(const TileOperands<typename Terms::Word> o, int64_t depth) {
  Tile<kRows, kBlocks> tile;
  tile.start(o);
  for (int64_t d = 0; d < depth; ++d) tile.template term<Terms>(o.a + d * kLanes, 1, o.b + d * kLanes, o.b_block);
  tile.finish(o);
}

/// 16 rows of c, tile by tile.
using TransposedTiles = std::make_integer_sequence<int, kTransposedTiles>;
template <typename Terms, int kBlocks, int... kTile>
void tiles_of_transposed(const TileOperands<typename Terms::Word>& o, int64_t depth,
                         std::integer_sequence<int, kTile...>) {
  constexpr auto first = [](int tile) { return kLanes * tile / kTransposedTiles; };
  (tile_of_transposed<Terms, first(kTile + 1) - first(kTile), kBlocks>(
       {o.a + first(kTile), o.a_row, o.b, o.b_block, o.c + first(kTile) * kLanes, o.c_block, o.add}, depth),
   ...);
}

template <typename Word>
using ProductTile = void (*)(TileOperands<Word>, int64_t depth, int64_t a_next);

template <typename Terms, int kBlocks, int... kRows>
ProductTile<typename Terms::Word> product_tile(bool strided, int rows, std::integer_sequence<int, kRows...>) {
  static constexpr ProductTile<typename Terms::Word> blocked[] = {tile_of_product<Terms, kRows + 1, kBlocks>...},
                                                     any[] = {tile_of_strided<Terms, kRows + 1, kBlocks>...};
  return (strided ? any : blocked)[rows - 1];
}

/// A matrix in blocks, or with any strides: the offsets that its tiles need, in words.
template <typename Word>
struct LeftOperand {
  const Word* data;
  int64_t row;   ///< from a row to the next
  int64_t next;  ///< from a block to the next or, if strided, from a column to the next
  bool strided;
};

template <typename Terms>
void multiply(const LeftOperand<typename Terms::Word>& a, const BlockedMatrix<const typename Terms::Word>& b,
              const BlockedMatrix<float>& c, int64_t depth, int64_t columns, bool add) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  const int64_t tiles = (c.rows + kTileRows - 1) / kTileRows, blocks = (columns + kLanes - 1) / kLanes;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t first = c.rows * tile / tiles, rows = c.rows * (tile + 1) / tiles - first;
    const auto all = product_tile<Terms, kTileBlocks>(a.strided, int(rows), Rows()),
               one = product_tile<Terms, 1>(a.strided, int(rows), Rows());
    for (int64_t block = 0; block < blocks; block += kTileBlocks)
      (block + kTileBlocks <= blocks ? all : one)({a.data + first * a.row, a.row, b.block(block), b.rows * kLanes,
                                                   c.block(block) + first * kLanes, c.rows * kLanes, add},
                                                  depth, a.next);
  }
}

}  // namespace detail

/// c = a b, or c += a b, on one core, with a of rows x depth and b of depth x columns. a, b and c must not overlap.
/// `depth` is in words.
template <typename Terms = FloatTerms>
void multiply(const BlockedMatrix<const typename Terms::Word>& a, const BlockedMatrix<const typename Terms::Word>& b,
              const BlockedMatrix<float>& c, int64_t depth, int64_t columns, bool add = false) {
  detail::multiply<Terms>({a.data, Terms::kRow, a.rows * Terms::kRow, false}, b, c, depth, columns, add);
}

/// A matrix of floats with any strides; the transposed one has them exchanged.
struct StridedMatrix {
  const float* data = nullptr;
  int64_t row = 0, column = 0;  ///< from one to the next
};

/// As above, with a in any order.
inline void multiply(const StridedMatrix& a, const BlockedMatrix<const float>& b, const BlockedMatrix<float>& c,
                     int64_t depth, int64_t columns, bool add = false) {
  detail::multiply<FloatTerms>({a.data, a.row, a.column, true}, b, c, depth, columns, add);
}

/// c = a^T b, or c += a^T b; a of depth x rows, b of depth x columns, c of c.rows (rows rounded up to a multiple of 16)
/// x columns. Pairs of both a and b are adjacent in a column.
template <typename Terms = FloatTerms>
void multiply_transposed(const BlockedMatrix<const typename Terms::Word>& a,
                         const BlockedMatrix<const typename Terms::Word>& b, const BlockedMatrix<float>& c,
                         int64_t depth, int64_t columns, bool add) {
  const int64_t blocks = (columns + kLanes - 1) / kLanes;
  for (int64_t block = 0; block < blocks; block += kTileBlocks)
    for (int64_t row = 0; row < c.rows; row += kLanes) {
      const detail::TileOperands<typename Terms::Word> operands{
          a.block(row / kLanes), 1,  b.block(block), b.rows * kLanes, c.block(block) + row * kLanes,
          c.rows * kLanes,       add};
      if (block + kTileBlocks <= blocks)
        detail::tiles_of_transposed<Terms, kTileBlocks>(operands, depth, detail::TransposedTiles());
      else
        detail::tiles_of_transposed<Terms, 1>(operands, depth, detail::TransposedTiles());
    }
}

}  // namespace cortado::kernels
