#pragma once

// Matrix products in one core, for matrices whose columns come in blocks of sixteen: element (row, column) lies at
// [column / 16][row][column % 16], which is how blocked tensors lie already. The inner kernel keeps a tile of the
// result in registers (14 rows by two blocks with AVX-512: 28 of its 32; 6 rows by one block with AVX, 3 without: 12 of
// 16) and adds one column of a times one row of b per step.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/cpu/vec16f.h"

namespace cortado::kernels {

/// a / b, rounded up.
inline int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Blocks that hold so many channels.
inline int64_t blocks_of(int64_t channels) { return ceil_of(channels, kLanes); }

/// Sixteen rows of sixteen, turned round: weights of one tap between two blocks, for the other direction.
inline void transpose_block(const float* from, float* to) {
  for (int row = 0; row < kLanes; ++row)
    for (int column = 0; column < kLanes; ++column) to[column * kLanes + row] = from[row * kLanes + column];
}

/// A matrix of `rows` rows in blocks of sixteen columns. Padding columns hold zeros.
template <typename Float>
struct BlockedMatrix {
  Float* data = nullptr;
  int64_t rows = 0;

  Float* block(int64_t index) const { return data + index * rows * kLanes; }
};

/// What stays in registers: a tile of the result, beside its blocks' row of b and one value of a. Products with a
/// transposed cut sixteen rows into so many tiles.
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

/// The sums of a tile of the result, which stay in registers.
template <int kRows, int kBlocks>
struct TileSums {
  static constexpr int kVectors = kBlocks * kRegisters;
  RegisterVec sum[kRows][kVectors];

  /// Adds one column of a, whose rows are a_row floats apart, times one row of b.
  [[gnu::always_inline]] void term(const float* a, int64_t a_row, const float* b, int64_t b_block) {
    RegisterVec row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = load<RegisterVec>(vector_at(b, b_block, v));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const RegisterVec value = spread<RegisterVec>(a[r * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] += value * row[v];
    }
  }
};

namespace detail {

/// Where one tile's operands lie: a advances by a_step floats for each term of the sum, b by sixteen.
struct TileOperands {
  const float* a;
  int64_t a_row;  ///< floats between rows of the tile in a
  const float* b;
  int64_t b_block;  ///< floats between blocks of b
  float* c;
  int64_t c_block;
  bool add;
};

template <int kRows, int kBlocks>
struct Tile : TileSums<kRows, kBlocks> {
  using Base = TileSums<kRows, kBlocks>;
  using Base::kVectors, Base::sum;

  [[gnu::always_inline]] void start(const TileOperands o) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = o.add ? load<RegisterVec>(vector_at(o.c + r * kLanes, o.c_block, v)) : RegisterVec{};
  }
  [[gnu::always_inline]] void finish(const TileOperands o) const {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(vector_at(o.c + r * kLanes, o.c_block, v), sum[r][v]);
  }
};

/// c = a b for kRows rows: the sum runs over a's columns, block by block.
template <int kRows, int kBlocks>
void tile_of_product(const TileOperands o, int64_t depth, int64_t a_block) {
  Tile<kRows, kBlocks> tile;
  tile.start(o);
  const float* b = o.b;
  for (int64_t first = 0; first < depth; first += kLanes) {
    const float* a = o.a + first / kLanes * a_block;
    const int64_t count = std::min<int64_t>(kLanes, depth - first);
    for (int64_t d = 0; d < count; ++d, b += kLanes) tile.term(a + d, kLanes, b, o.b_block);
  }
  tile.finish(o);
}

/// c = a^T b for kRows columns of a: the sum runs over the rows of both.
template <int kRows, int kBlocks>
void tile_of_transposed(const TileOperands o, int64_t depth) {
  Tile<kRows, kBlocks> tile;
  tile.start(o);
  for (int64_t d = 0; d < depth; ++d) tile.term(o.a + d * kLanes, 1, o.b + d * kLanes, o.b_block);
  tile.finish(o);
}

/// Sixteen rows of c, tile by tile.
using TransposedTiles = std::make_integer_sequence<int, kTransposedTiles>;
template <int kBlocks, int... kTile>
void tiles_of_transposed(const TileOperands& o, int64_t depth, std::integer_sequence<int, kTile...>) {
  constexpr auto first = [](int tile) { return kLanes * tile / kTransposedTiles; };
  (tile_of_transposed<first(kTile + 1) - first(kTile), kBlocks>(
       {o.a + first(kTile), o.a_row, o.b, o.b_block, o.c + first(kTile) * kLanes, o.c_block, o.add}, depth),
   ...);
}

using ProductTile = void (*)(TileOperands, int64_t depth, int64_t a_block);

template <int kBlocks, int... kRows>
ProductTile product_tile(int rows, std::integer_sequence<int, kRows...>) {
  static constexpr ProductTile table[] = {tile_of_product<kRows + 1, kBlocks>...};
  return table[rows - 1];
}

}  // namespace detail

/// c = a b, with a of rows x depth, b of depth x columns; all of one core. a, b and c do not overlap.
inline void multiply(const BlockedMatrix<const float>& a, const BlockedMatrix<const float>& b,
                     const BlockedMatrix<float>& c, int64_t depth, int64_t columns) {
  using Rows = std::make_integer_sequence<int, kTileRows>;
  const int64_t tiles = (c.rows + kTileRows - 1) / kTileRows, blocks = (columns + kLanes - 1) / kLanes;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t first = c.rows * tile / tiles, rows = c.rows * (tile + 1) / tiles - first;
    const auto all = detail::product_tile<kTileBlocks>(int(rows), Rows()),
               one = detail::product_tile<1>(int(rows), Rows());
    for (int64_t block = 0; block < blocks; block += kTileBlocks)
      (block + kTileBlocks <= blocks ? all : one)({a.data + first * kLanes, kLanes, b.block(block), b.rows * kLanes,
                                                   c.block(block) + first * kLanes, c.rows * kLanes, false},
                                                  depth, a.rows * kLanes);
  }
}

/// c = a^T b, or c += a^T b; a of depth x rows, b of depth x columns, c of c.rows (rows rounded up to sixteens) x
/// columns.
inline void multiply_transposed(const BlockedMatrix<const float>& a, const BlockedMatrix<const float>& b,
                                const BlockedMatrix<float>& c, int64_t depth, int64_t columns, bool add) {
  const int64_t blocks = (columns + kLanes - 1) / kLanes;
  for (int64_t block = 0; block < blocks; block += kTileBlocks)
    for (int64_t row = 0; row < c.rows; row += kLanes) {
      const detail::TileOperands operands{
          a.block(row / kLanes), 1,  b.block(block), b.rows * kLanes, c.block(block) + row * kLanes,
          c.rows * kLanes,       add};
      if (block + kTileBlocks <= blocks)
        detail::tiles_of_transposed<kTileBlocks>(operands, depth, detail::TransposedTiles());
      else
        detail::tiles_of_transposed<1>(operands, depth, detail::TransposedTiles());
    }
}

}  // namespace cortado::kernels
