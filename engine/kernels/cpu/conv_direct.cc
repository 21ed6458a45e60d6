// Direct convolution of blocked tensors, for CPUs without AVX-512, on which libraries use blocks of 8 channels and
// would need reorders.
//
// A tile of the result, a few positions by 16 channels, stays in registers while the sum iterates over taps and input
// channels. Each position has a pointer to the input of a tap; outside the image it points to zeros. Backward_data
// swaps the sides; with a stride of s the positions of dx form s x s phases, each with its own taps. Backward_weights
// keeps a few input channels by 16 outputs in registers and iterates over positions.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/threads/threads.h"
#include "kernels/conv.h"
#include "kernels/cpu/bias_sums.h"
#include "kernels/cpu/blocked_product.h"
#include "kernels/cpu/conv_phases.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

constexpr int kPlaces = 12 / kRegisters;            ///< positions per tile: the sums leave four of 16 registers free
constexpr int64_t kBlock = kLanes * kLanes;         ///< weights of one tap between two blocks of channels
constexpr int64_t kWeightBytes = 16 << 10;          ///< weights in the first-level cache for a chunk of positions
constexpr int64_t kChunkBytes = 192 << 10;          ///< read by a chunk of positions: fits the second-level cache
constexpr int64_t kMinChunk = 24, kMaxChunk = 768;  ///< places

constexpr int64_t kItemsPerPiece = 2;  ///< at least, for load balance

/// Positions of the result that read the same taps.
struct Phase {
  struct Tap {
    int64_t h, w;      ///< offset from a position's row and column
    int64_t distance;  ///< the offset in floats
    int64_t weights;   ///< offset in floats from a pair of blocks' first weight
  };
  AxisPhase h, w;
  std::vector<Tap> taps;
  int64_t top = 0, bottom = 0, left = 0, right = 0;  ///< minimum and maximum offsets of the taps

  Phase(const AxisPhase& rows, const AxisPhase& columns, const ConvShape& s, int64_t from_width) : h(rows), w(columns) {
    for (const AxisPhase::Tap& r : h.taps)
      for (const AxisPhase::Tap& t : w.taps)
        taps.push_back({r.offset, t.offset, (r.offset * from_width + t.offset) * kLanes,
                        (r.index * s.w.kernel + t.index) * kBlock});
    if (taps.empty()) return;
    const auto by_h = [](const Tap& a, const Tap& b) { return a.h < b.h; };
    const auto by_w = [](const Tap& a, const Tap& b) { return a.w < b.w; };
    top = std::ranges::min_element(taps, by_h)->h, bottom = std::ranges::max_element(taps, by_h)->h;
    left = std::ranges::min_element(taps, by_w)->w, right = std::ranges::max_element(taps, by_w)->w;
  }
  int64_t places() const { return h.count * w.count; }
};

alignas(64) constexpr float kZeros[kLanes] = {};

/// The operands of a tile.
struct TileWork {
  const Phase& phase;
  const float* from;                          ///< the image's first input block of this group
  int64_t height, width;                      ///< of the input
  int64_t blocks;                             ///< input blocks in this group
  const float* weights;                       ///< of the first input block
  int64_t weights_step;                       ///< stride between blocks' weights in floats
  int64_t row, column;                        ///< of the first position, in the phase
  float* to;                                  ///< the result's block
  int64_t to_width;                           ///< of the result
  bool add;                                   ///< accumulate instead of overwriting
  const float* bias = nullptr;                ///< of the block's lanes, at the start of sums
  Activation::Kind last = Activation::kNone;  ///< an activation that gates(), at the end of sums
  float ceiling = 0;
};

/// Vector v of the initial sum of a position.
[[gnu::always_inline]] inline RegisterVec begin_sum(const TileWork& work, const float* to, int v) {
  RegisterVec sum = work.add ? load<RegisterVec>(to + v * kWidth) : RegisterVec{};
  if (work.bias) sum += load<RegisterVec>(work.bias + v * kWidth);
  return sum;
}

[[gnu::always_inline]] inline void end_sum(const TileWork& work, float* to, int v, const RegisterVec& sum) {
  store(to + v * kWidth, gated(work.last, spread<RegisterVec>(work.ceiling), sum));
}

/// The positions of a tile: their first inputs and their outputs.
template <int kCount>
struct Places {
  int64_t rows[kCount], columns[kCount];
  const float* from[kCount];
  float* to[kCount];
  bool inside = true;  ///< all taps of all positions are inside the image

  [[gnu::always_inline]] explicit Places(const TileWork& work) {
    const Phase& phase = work.phase;
    int64_t row = work.row, column = work.column;
    for (int p = 0; p < kCount; ++p) {
      rows[p] = row * phase.h.step_in;
      columns[p] = column * phase.w.step_in;
      from[p] = work.from + (rows[p] * work.width + columns[p]) * kLanes;
      to[p] = work.to +
              ((row * phase.h.step_out + phase.h.first) * work.to_width + column * phase.w.step_out + phase.w.first) *
                  kLanes;
      inside = inside && rows[p] + phase.top >= 0 && rows[p] + phase.bottom < work.height &&
               columns[p] + phase.left >= 0 && columns[p] + phase.right < work.width;
      if (++column == phase.w.count) column = 0, ++row;
    }
  }
  bool outside(int p, const Phase::Tap& tap, const TileWork& work) const {
    const int64_t h = rows[p] + tap.h, w = columns[p] + tap.w;
    return h < 0 || h >= work.height || w < 0 || w >= work.width;
  }
};

/// Sums over taps and the channels of some blocks.
template <int kCount>
void sum_tile(const TileWork& work) {
  const Places<kCount> places(work);
  RegisterVec sum[kCount][kRegisters];
#pragma GCC unroll 16
  for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) sum[p][v] = begin_sum(work, places.to[p], v);
  const int64_t plane = work.height * work.width * kLanes;
  for (int64_t block = 0; block < work.blocks; ++block) {
    const float* block_weights = work.weights + block * work.weights_step;
    for (const Phase::Tap& tap : work.phase.taps) {
      const float* at[kCount];
      const int64_t distance = block * plane + tap.distance;
#pragma GCC unroll 16
      for (int p = 0; p < kCount; ++p) at[p] = places.from[p] + distance;
      if (!places.inside) {
        int outside = 0;
        for (int p = 0; p < kCount; ++p)
          if (places.outside(p, tap, work)) at[p] = kZeros, ++outside;
        if (outside == kCount) continue;
      }
      const float* w = block_weights + tap.weights;
#pragma GCC unroll 16
      for (int p = 0; p < kCount; ++p) __builtin_prefetch(at[p] + kCount * kLanes);  // for the next tile
#pragma GCC unroll 4
      for (int c = 0; c < kLanes; ++c) {
        RegisterVec row[kRegisters];
#pragma GCC unroll 4
        for (int v = 0; v < kRegisters; ++v) row[v] = load<RegisterVec>(w + c * kLanes + v * kWidth);
#pragma GCC unroll 16
        for (int p = 0; p < kCount; ++p) {
          const RegisterVec value = spread<RegisterVec>(at[p][c]);
#pragma GCC unroll 4
          for (int v = 0; v < kRegisters; ++v) sum[p][v] += value * row[v];
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) end_sum(work, places.to[p], v, sum[p][v]);
}

/// Like sum_tile() for a single tap at the position itself: positions, and the blocks' weights, are contiguous.
template <int kCount>
void sum_row(const TileWork& work) {
  const int64_t place = (work.row * work.width + work.column) * kLanes, plane = work.height * work.width * kLanes;
  float* to = work.to + place;
  TileSums<kCount, 1> tile;
#pragma GCC unroll 16
  for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) tile.sum[p][v] = begin_sum(work, to + p * kLanes, v);
  const float *from = work.from + place, *w = work.weights;
  for (int64_t block = 0; block < work.blocks; ++block, from += plane, w += kBlock) {
#pragma GCC unroll 4
    for (int c = 0; c < kLanes; ++c) tile.term(from + c, kLanes, w + c * kLanes, 0);
  }
#pragma GCC unroll 16
  for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) end_sum(work, to + p * kLanes, v, tile.sum[p][v]);
}

using SumTile = void (*)(const TileWork&);
template <int... kCount>
constexpr std::array<SumTile, sizeof...(kCount)> sum_tiles(std::integer_sequence<int, kCount...>) {
  return {sum_tile<kCount + 1>...};
}
template <int... kCount>
constexpr std::array<SumTile, sizeof...(kCount)> sum_rows(std::integer_sequence<int, kCount...>) {
  return {sum_row<kCount + 1>...};
}
constexpr auto kSumTiles = sum_tiles(std::make_integer_sequence<int, kPlaces>());
constexpr auto kSumRows = sum_rows(std::make_integer_sequence<int, kPlaces>());

/// Forward, and backward_data with swapped sides.
class Direct final : public ConvKernel {
 public:
  Direct(const ConvRequest& request, bool to_x, int pieces)
      : s_(request.shape),
        to_x_(to_x),
        sum_(request.post.sum && !to_x),
        activation_(to_x ? Activation() : request.post.activation),
        from_blocks_(blocks_of((to_x ? s_.k : s_.c) / s_.groups)),
        to_blocks_(blocks_of((to_x ? s_.c : s_.k) / s_.groups)),
        height_(to_x ? s_.h.out() : s_.h.in),
        width_(to_x ? s_.w.out() : s_.w.in),
        to_height_(to_x ? s_.h.in : s_.h.out()),
        to_width_(to_x ? s_.w.in : s_.w.out()),
        taps_(s_.h.kernel * s_.w.kernel) {
    for (const AxisPhase& h : to_x ? backward_phases(s_.h) : forward_phases(s_.h))
      for (const AxisPhase& w : to_x ? backward_phases(s_.w) : forward_phases(s_.w))
        phases_.emplace_back(h, w, s_, width_);
    const auto at_place = [](const ConvAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.pad == 0; };
    in_rows_ = at_place(s_.h) && at_place(s_.w);
    together_ = std::clamp<int64_t>(kWeightBytes / (taps_ * kBlock * int64_t(sizeof(float))), 1, from_blocks_);
    const int64_t read = together_ * kLanes * int64_t(sizeof(float)) * (to_x ? 1 : s_.h.stride * s_.w.stride);
    for (const Phase& phase : phases_) {
      const int64_t chunk = std::clamp(kChunkBytes / read, kMinChunk, kMaxChunk);
      chunks_.push_back(std::max<int64_t>(1, ceil_of(phase.places(), chunk)));
      for (int64_t i = 0; i < chunks_.back(); ++i) pieces_.push_back({&phase - phases_.data(), i});
    }
    const int64_t alone = s_.n * s_.groups * int64_t(pieces_.size());
    parts_ = std::clamp<int64_t>(ceil_of(kItemsPerPiece * pieces, std::max<int64_t>(1, alone)), 1, to_blocks_);
    if (to_x) turned_ = scratch_.add(s_.groups * from_blocks_ * to_blocks_ * taps_ * kBlock * int64_t(sizeof(float)));
  }

  std::string name() const override { return "direct"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(s_.weight(), s_.groups); }
  int64_t scratch() const override { return scratch_.bytes(); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const float* weights = floats(io.w);
    if (to_x_) weights = turn(context, weights, static_cast<float*>(scratch_part(scratch, turned_)));
    const int64_t pieces = int64_t(pieces_.size());
    parallel_ranges(context, s_.n * s_.groups * pieces * parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        run_piece(i / parts_ / pieces, pieces_[size_t(i / parts_ % pieces)], i % parts_, weights, io);
    });
  }

 private:
  struct Piece {
    int64_t phase, chunk;
  };

  /// Transposes the weights for the other direction: [c block][k block][tap][k][c] of [k block][c block][tap][c][k].
  const float* turn(Context& context, const float* w, float* to) const {
    const int64_t pairs = from_blocks_ * to_blocks_;
    parallel_ranges(context, s_.groups * pairs * taps_, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t tap = i % taps_, pair = i / taps_ % pairs, group = i / taps_ / pairs;
        const int64_t c_block = pair / from_blocks_, k_block = pair % from_blocks_;
        transpose_block(w + ((group * pairs + k_block * to_blocks_ + c_block) * taps_ + tap) * kBlock, to + i * kBlock);
      }
    });
    return to;
  }

  /// Computes some of the result's blocks for a chunk of positions. Input channels are processed in groups whose
  /// weights stay in the first-level cache for all these positions. Between groups the partial sums are stored in the
  /// result.
  void run_piece(int64_t image_and_group, const Piece& piece, int64_t part, const float* weights,
                 const ConvOperands& io) const {
    const int64_t image = image_and_group / s_.groups, group = image_and_group % s_.groups;
    const Phase& phase = phases_[size_t(piece.phase)];
    const int64_t chunks = chunks_[size_t(piece.phase)], places = phase.places(), pair = taps_ * kBlock;
    const Range range{places * piece.chunk / chunks, places * (piece.chunk + 1) / chunks};
    const int64_t plane = height_ * width_ * kLanes;
    const float* from = floats(to_x_ ? io.dy : io.x) + image_and_group * from_blocks_ * plane;
    for (int64_t first = 0; first < from_blocks_; first += together_)
      for (int64_t block = to_blocks_ * part / parts_; block < to_blocks_ * (part + 1) / parts_; ++block) {
        const int64_t index = group * to_blocks_ + block;
        float* to =
            floats(to_x_ ? io.dx : io.y) + (image * s_.groups * to_blocks_ + index) * to_height_ * to_width_ * kLanes;
        alignas(64) float bias[kLanes];
        TileWork work{phase,
                      from + first * plane,
                      height_,
                      width_,
                      std::min(together_, from_blocks_ - first),
                      weights + (index * from_blocks_ + first) * pair,
                      pair,
                      0,
                      0,
                      to,
                      to_width_,
                      sum_ || first > 0};
        if (first == 0 && !to_x_ && io.bias) work.bias = lanes_of(floats(io.bias), index, bias);
        const bool ends = first + together_ >= from_blocks_;
        if (ends && activation_.gates()) work.last = activation_.kind, work.ceiling = activation_.ceiling;
        sum_places(work, range);
        if (ends && !activation_.gates())
          activate_lanes(activation_.kind, to + range.begin * kLanes, range.end - range.begin);
      }
  }

  struct Range {
    int64_t begin, end;
  };

  void sum_places(TileWork work, const Range& range) const {
    const auto& sum = in_rows_ ? kSumRows : kSumTiles;
    const int64_t count = range.end - range.begin, tiles = ceil_of(count, kPlaces);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t first = range.begin + count * tile / tiles, last = range.begin + count * (tile + 1) / tiles;
      work.row = first / work.phase.w.count;
      work.column = first % work.phase.w.count;
      sum[size_t(last - first - 1)](work);
    }
  }

  /// The bias of a block, with zeros in padding lanes.
  const float* lanes_of(const float* bias, int64_t block, float* lanes) const {
    const int left = int(std::min<int64_t>(kLanes, s_.k - block * kLanes));
    store(lanes, load_some(bias + block * kLanes, left));
    return lanes;
  }

  ConvShape s_;
  bool to_x_, sum_;
  Activation activation_;
  int64_t from_blocks_, to_blocks_;                ///< per group
  int64_t height_, width_, to_height_, to_width_;  ///< of the input, and of the result
  int64_t taps_;
  bool in_rows_ = false;  ///< a single tap at the position itself
  std::vector<Phase> phases_;
  std::vector<int64_t> chunks_;  ///< per phase
  std::vector<Piece> pieces_;
  int64_t together_ = 1;  ///< input blocks per group
  int64_t parts_ = 1;     ///< parts of the result's blocks, if there are too few positions
  ScratchLayout scratch_;
  int64_t turned_ = 0;
};

/// The gradient of the weights: sums over positions, in the order of images, rows and columns.
class DirectWeights final : public ConvKernel {
 public:
  DirectWeights(const ConvRequest& request, int pieces)
      : s_(request.shape),
        c_blocks_(blocks_of(s_.c / s_.groups)),
        k_blocks_(blocks_of(s_.k / s_.groups)),
        taps_(s_.h.kernel * s_.w.kernel),
        y_(s_.y()),
        // Rows of y whose positions, with their x, fit the first-level cache.
        rows_(std::max<int64_t>(1, kPlacesAtOnce / std::max<int64_t>(1, s_.w.out()))) {
    for (int64_t t = 0; t < s_.w.kernel; ++t) spans_.push_back(span_of(s_.w, t));
    const int64_t wanted = kItemsPerPiece * pieces;
    while (together_ > 1 && items() < wanted) together_ /= 2;
    tap_parts_ = std::clamp<int64_t>(ceil_of(wanted, items()), 1, taps_);
  }

  std::string name() const override { return "direct"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(s_.weight(), s_.groups); }
  int64_t scratch() const override { return 0; }

  void run(Context& context, const ConvOperands& io, void*) override {
    if (io.d.bias) sum_bias(context, y_, floats(io.dy), io.d.bias, io.d.add_bias);
    if (!io.d.w) return;
    parallel_ranges(context, items(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_item(i, io);
    });
  }

 private:
  static constexpr int64_t kPlacesAtOnce = 112;
  static constexpr int kTiles = kTransposedTiles;  ///< tiles per 16 input channels

  float* weights_of(float* w, int64_t group, int64_t k_block, int64_t c_block, int64_t tap) const {
    return w + (((group * k_blocks_ + k_block) * c_blocks_ + c_block) * taps_ + tap) * kBlock;
  }

  int64_t c_parts() const { return ceil_of(c_blocks_, together_); }
  int64_t k_parts() const { return ceil_of(k_blocks_, together_); }
  int64_t items() const { return s_.groups * k_parts() * c_parts() * tap_parts_; }

  /// Computes some blocks of either side, and some taps.
  void run_item(int64_t item, const ConvOperands& io) const {
    const int64_t part = item % tap_parts_, first_c = item / tap_parts_ % c_parts() * together_,
                  first_k = item / tap_parts_ / c_parts() % k_parts() * together_,
                  group = item / tap_parts_ / c_parts() / k_parts();
    const int64_t last_k = std::min(first_k + together_, k_blocks_), last_c = std::min(first_c + together_, c_blocks_);
    bool add = io.d.add_w;
    for (int64_t image = 0; image < s_.n; ++image)
      for (int64_t row = 0; row < s_.h.out(); row += rows_, add = true)
        for (int64_t k = first_k; k < last_k; ++k)
          for (int64_t c = first_c; c < last_c; ++c)
            for (int64_t tap = taps_ * part / tap_parts_; tap < taps_ * (part + 1) / tap_parts_; ++tap)
              add_rows(image, group, k, c, tap, row, std::min(row + rows_, s_.h.out()), add, io);
  }

  /// The runs of positions that a tile sums, each in one row, with x_step floats between positions in x.
  struct Rows {
    const float *x, *dy;
    int64_t rows, x_row, dy_row, places, x_step;
  };

  void add_rows(int64_t image, int64_t group, int64_t k, int64_t c, int64_t tap, int64_t begin, int64_t end, bool add,
                const ConvOperands& io) const {
    const TapSpan h = span_of(s_.h, tap / s_.w.kernel), &w = spans_[size_t(tap % s_.w.kernel)];
    const int64_t from = std::clamp(begin, h.begin, h.end), to = std::clamp(end, h.begin, h.end);
    const float* x = floats(io.x) + ((image * s_.groups + group) * c_blocks_ + c) * s_.h.in * s_.w.in * kLanes;
    const float* dy = floats(io.dy) + ((image * s_.groups + group) * k_blocks_ + k) * s_.h.out() * s_.w.out() * kLanes;
    Rows rows{x + ((from * s_.h.stride + h.offset) * s_.w.in + w.begin * s_.w.stride + w.offset) * kLanes,
              dy + (from * s_.w.out() + w.begin) * kLanes,
              to - from,
              s_.h.stride * s_.w.in * kLanes,
              s_.w.out() * kLanes,
              w.end - w.begin,
              s_.w.stride * kLanes};
    if (rows.places == s_.w.out() && rows.x_row == rows.dy_row && rows.x_step == kLanes) {  // rows are contiguous
      rows.places *= rows.rows;
      rows.rows = rows.rows > 0;
    }
    add_tiles(rows, weights_of(io.d.w, group, k, c, tap), add, std::make_integer_sequence<int, kTiles>());
  }

  template <int... kTile>
  static void add_tiles(const Rows& rows, float* dw, bool add, std::integer_sequence<int, kTile...>) {
    (add_tile<kLanes * kTile / kTiles, kLanes*(kTile + 1) / kTiles>(rows, dw, add), ...);
  }

  /// Sums input channels [kFrom, kTo) by 16 outputs.
  template <int kFrom, int kTo>
  static void add_tile(const Rows& rows, float* dw, bool add) {
    constexpr int kCount = kTo - kFrom;
    RegisterVec sum[kCount][kRegisters];
#pragma GCC unroll 16
    for (int c = 0; c < kCount; ++c)
#pragma GCC unroll 2
      for (int v = 0; v < kRegisters; ++v)
        sum[c][v] = add ? load<RegisterVec>(dw + (kFrom + c) * kLanes + v * kWidth) : RegisterVec{};
    for (int64_t row = 0; row < rows.rows; ++row) {
      const float *x = rows.x + row * rows.x_row + kFrom, *dy = rows.dy + row * rows.dy_row;
      for (int64_t place = 0; place < rows.places; ++place, x += rows.x_step, dy += kLanes) {
        RegisterVec gradient[kRegisters];
#pragma GCC unroll 2
        for (int v = 0; v < kRegisters; ++v) gradient[v] = load<RegisterVec>(dy + v * kWidth);
#pragma GCC unroll 16
        for (int c = 0; c < kCount; ++c) {
          const RegisterVec value = spread<RegisterVec>(x[c]);
#pragma GCC unroll 2
          for (int v = 0; v < kRegisters; ++v) sum[c][v] += value * gradient[v];
        }
      }
    }
#pragma GCC unroll 16
    for (int c = 0; c < kCount; ++c)
#pragma GCC unroll 2
      for (int v = 0; v < kRegisters; ++v) store(dw + (kFrom + c) * kLanes + v * kWidth, sum[c][v]);
  }

  ConvShape s_;
  int64_t c_blocks_, k_blocks_;  ///< per group
  int64_t taps_;
  TensorSpec y_;
  int64_t rows_;
  int64_t together_ = 4;        ///< blocks per side whose chunks stay cached
  int64_t tap_parts_ = 1;       ///< parts of the taps, if there are too few blocks
  std::vector<TapSpan> spans_;  ///< of columns, per tap
};

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!takes_blocked_images(s, why)) return nullptr;
  if (s.groups > 1 && (s.c / s.groups % kLanes || s.k / s.groups % kLanes))
    return why = "groups do not fill blocks", nullptr;
  if (!takes_blocked_weights(request, why)) return nullptr;
  if (direction == ConvDirection::kBackwardWeights) return std::make_unique<DirectWeights>(request, context.pieces);
  return std::make_unique<Direct>(request, direction == ConvDirection::kBackwardData, context.pieces);
}

/// Rates of a core, measured with AVX2; for AVX-512 a guess, well below oneDNN's.
double cost(const ConvRequest& request, ConvDirection direction, CpuLevel level) {
  const ConvShape& s = request.shape;
  constexpr double kFlops[] = {6e10, 5.5e10, 6.8e10};
  const double rate = level == CpuLevel::kAvx512 ? 8e10 : kFlops[int(direction)];
  const double c = double(blocks_of(s.c)) * kLanes / double(s.c), k = double(blocks_of(s.k)) * kLanes / double(s.k);
  return 2 * double(s.macs()) * c * k / rate;
}

}  // namespace

ConvCandidate direct_conv_candidate() { return {"direct", make, cost, &CpuLevels::own, ConvAlgorithm::kDirect}; }

}  // namespace cortado::kernels
