// Convolution of plain images with few channels to blocks of 16: a net's first layer. For CPUs without AVX-512, on
// which libraries use channels last for such images and reorder the result, which is large.
//
// The rows of x under a few rows of y are copied, with zero padding, into a patch that stays cached. In the
// patch, position p of y and tap t (a window element) are at the sum of their offsets, which is always inside:
//     y[p] = sum over t of patch[p + t] w[t],        dw[t] = sum over p of patch[p + t] dy[p],
// where y[p], w[t], dy[p] and dw[t] are 16 output channels. One tile kernel therefore computes both.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/threads/threads.h"
#include "kernels/conv.h"
#include "kernels/cpu/blocked_product.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

constexpr int64_t kMaxChannels = 8;          ///< more channels fill the lanes of blocks well enough
constexpr int64_t kBlock = kLanes * kLanes;  ///< weights of one window element, including rows of padding channels
constexpr int64_t kWeightBytes = 12 << 10;   ///< of a slice of taps: stay in the first-level cache for all positions
constexpr int64_t kPatchBytes = 48 << 10;    ///< with the kMaxPlaces of y: fits the second-level cache
constexpr int64_t kMaxPlaces = 768;
constexpr int64_t kMaxPatchBytes = 4 << 20;  ///< if one row of y takes more than kPatchBytes
constexpr int64_t kFloatBytes = sizeof(float);

/// Sums per tile of `vectors` registers each. They leave four registers free, unless address registers run out first.
constexpr int kMaxHeld = kRegisters == 1 ? 12 : 8;
constexpr int held(int vectors) { return std::min(12 / vectors, kMaxHeld); }

/// to[i] = gate(first + sum over j of values[at[i] + steps[j]] * rows[j]), with 16 lanes in to[i], first, rows[j].
struct TileWork {
  const float* values;
  const int32_t* at;
  const int32_t* steps;
  int64_t count;  ///< number of steps
  const float* rows;
  int64_t lanes;  ///< used lanes; the others become 0
  const float* first;
  float* to;
  bool add;  ///< accumulate instead of overwriting
  Activation gate;
};

/// Computes kCount sums, for the first registers of 16 lanes.
template <int kCount, int kVectors>
void sum_tile(const TileWork& work) {
  const float* from[kCount];
  RegisterVec sum[kCount][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    from[i] = work.values + work.at[i];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[i][v] = load<RegisterVec>(work.first + v * kWidth);
  }
  const float* rows = work.rows;
  for (int64_t j = 0; j < work.count; ++j, rows += kLanes) {
    const int64_t step = work.steps[j];
    RegisterVec row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = load<RegisterVec>(rows + v * kWidth);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const RegisterVec value = spread<RegisterVec>(from[i][step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] += value * row[v];
    }
  }
  const RegisterVec ceiling = spread<RegisterVec>(work.gate.ceiling);
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < kRegisters; ++v) {
      float* to = work.to + i * kLanes + v * kWidth;
      RegisterVec value = v < kVectors ? sum[i][v] : RegisterVec{};
      if (work.add) value += load<RegisterVec>(to);  // at the end: partial sums of long sums lose fewer small terms
      store(to, gated(work.gate.kind, ceiling, value));
    }
}

using SumTile = void (*)(const TileWork&);
template <int kVectors, int... kCount>
constexpr std::array<SumTile, kMaxHeld> sum_tiles(std::integer_sequence<int, kCount...>) {
  return {sum_tile<kCount + 1, kVectors>...};
}
template <int... kVectors>
constexpr std::array<std::array<SumTile, kMaxHeld>, kRegisters> sum_tiles_of_all(
    std::integer_sequence<int, kVectors...>) {
  return {sum_tiles<kVectors + 1>(std::make_integer_sequence<int, held(kVectors + 1)>())...};
}
constexpr auto kSumTiles = sum_tiles_of_all(std::make_integer_sequence<int, kRegisters>());

/// Computes `sums` sums, in tiles of nearly equal size.
void sum_all(const TileWork& work, int64_t sums) {
  const int vectors = int(ceil_of(work.lanes, kWidth));
  const int64_t tiles = ceil_of(sums, held(vectors));
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t first = sums * tile / tiles, last = sums * (tile + 1) / tiles;
    TileWork part = work;
    part.at += first;
    part.to += first * kLanes;
    kSumTiles[size_t(vectors - 1)][size_t(last - first - 1)](part);
  }
}

alignas(64) constexpr float kZeros[kLanes] = {};

/// Some rows of y, with the patch of x that they read.
struct Chunk {
  int64_t image, row;
  int64_t places;
  const float* patch;
};

/// The division of y into chunks, and the layout of their patches.
class Patches {
 public:
  Patches(const ConvShape& s, int pieces, ScratchLayout& scratch) : s_(s), width_(reach(s.w, s.w.out())) {
    const int64_t shares = ceil_of(s.n * s.h.out(), int64_t(pieces));
    rows_ = std::clamp<int64_t>(std::min(kMaxPlaces / s.w.out(), shares), 1, s.h.out());
    while (rows_ > 1 && bytes(s, rows_) > kPatchBytes) --rows_;
    chunks_ = ceil_of(s.h.out(), rows_);
    height_ = reach(s.h, rows_);
    strips_ = std::min(s.n * chunks_, int64_t(pieces));
    bytes_ = bytes(s, rows_);
    patches_ = scratch.add(strips_ * bytes_);
    for (int64_t row = 0; row < rows_; ++row)
      for (int64_t column = 0; column < s.w.out(); ++column)
        places_.push_back(int32_t(row * s.h.stride * width_ + column * s.w.stride));
    for (int64_t h = 0; h < s.h.kernel; ++h)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t w = 0; w < s.w.kernel; ++w)
          taps_.push_back(int32_t((c * height_ + h * s.h.dilation) * width_ + w * s.w.dilation));
  }

  /// Whether the patch of one row of y, and therefore every offset in it, is small enough.
  static bool fit(const ConvShape& s) {
    const int64_t height = reach(s.h, 1), width = reach(s.w, s.w.out());
    return height <= kMaxPatchBytes && width <= kMaxPatchBytes && bytes(s, 1) <= kMaxPatchBytes;
  }
  /// Bytes of the patch for `rows` rows of y.
  static int64_t bytes(const ConvShape& s, int64_t rows) {
    return ceil_of(s.c * reach(s.h, rows) * reach(s.w, s.w.out()), kLanes) * kLanes * kFloatBytes;
  }

  const std::vector<int32_t>& places() const { return places_; }
  /// [kernel row][channel][kernel column]
  const std::vector<int32_t>& taps() const { return taps_; }
  /// Offset of the weights of a tap in the first block.
  int64_t weights_of(int64_t tap) const {
    const int64_t w = tap % s_.w.kernel, c = tap / s_.w.kernel % s_.c, h = tap / s_.w.kernel / s_.c;
    return (h * s_.w.kernel + w) * kBlock + c * kLanes;
  }

  /// A strip is a run of chunks with one patch buffer, so that patches stay cached.
  int64_t strips() const { return strips_; }
  /// Calls body(strip, chunk, whether it is the strip's first) for all chunks.
  template <typename Body>
  void each(Context& context, const float* x, void* scratch, const Body& body) const {
    const int64_t all = s_.n * chunks_;
    parallel_ranges(context, strips_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t strip = begin; strip < end; ++strip) {
        float* patch = static_cast<float*>(scratch_part(scratch, patches_ + strip * bytes_));
        const int64_t first = all * strip / strips_, last = all * (strip + 1) / strips_;
        for (int64_t i = first; i < last; ++i) body(strip, chunk(i, x, patch), i == first);
      }
    });
  }

 private:
  /// The input extent of `outputs` adjacent outputs along an axis.
  static int64_t reach(const ConvAxis& a, int64_t outputs) { return (outputs - 1) * a.stride + a.extent(); }

  Chunk chunk(int64_t index, const float* x, float* patch) const {
    const int64_t image = index / chunks_, i = index % chunks_;
    const int64_t begin = s_.h.out() * i / chunks_, end = s_.h.out() * (i + 1) / chunks_;
    for (int64_t c = 0; c < s_.c; ++c)
      fill(x + (image * s_.c + c) * s_.h.in * s_.w.in, begin * s_.h.stride - s_.h.pad, reach(s_.h, end - begin),
           patch + c * height_ * width_);
    return {image, begin, (end - begin) * s_.w.out(), patch};
  }

  /// Copies rows of a channel from `first` on. Rows and columns outside the image become zero.
  void fill(const float* channel, int64_t first, int64_t rows, float* to) const {
    const int64_t left = std::min(s_.w.pad, width_), inside = std::min(s_.w.in, width_ - left);
    for (int64_t row = first; row < first + rows; ++row, to += width_) {
      if (row < 0 || row >= s_.h.in) {
        std::fill_n(to, width_, 0.0f);
        continue;
      }
      std::fill_n(to, left, 0.0f);
      std::copy_n(channel + row * s_.w.in, inside, to + left);
      std::fill_n(to + left + inside, width_ - left - inside, 0.0f);
    }
  }

  ConvShape s_;
  int64_t rows_ = 1, chunks_ = 1, strips_ = 1;  ///< maximum rows of y per chunk; chunks per image; strips
  int64_t width_, height_ = 0, bytes_ = 0;      ///< of a patch
  int64_t patches_ = 0;                         ///< in scratch
  std::vector<int32_t> places_, taps_;          ///< offsets of positions, row by row, and of taps
};

class First : public ConvKernel {
 public:
  First(const ConvShape& s, int pieces)
      : s_(s), patches_(s, pieces, scratch_), taps_(int64_t(patches_.taps().size())), blocks_(blocks_of(s.k)) {}

  std::string name() const override { return "first"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(s_.weight(), 1); }
  int64_t scratch() const override { return scratch_.bytes(); }

 protected:
  int lanes_of_block(int64_t block) const { return int(std::min<int64_t>(kLanes, s_.k - block * kLanes)); }
  int64_t block_weights() const { return s_.h.kernel * s_.w.kernel * kBlock; }
  /// Offset in floats of a chunk's block in y or dy.
  int64_t in_y(const Chunk& chunk, int64_t block) const {
    return ((chunk.image * blocks_ + block) * s_.h.out() + chunk.row) * s_.w.out() * kLanes;
  }

  ConvShape s_;
  ScratchLayout scratch_;
  Patches patches_;
  int64_t taps_, blocks_;
};

class FirstForward final : public First {
 public:
  FirstForward(const ConvRequest& request, int pieces)
      : First(request.shape, pieces),
        sum_(request.post.sum),
        activation_(request.post.activation),
        packed_(scratch_.add(blocks_ * taps_ * kLanes * kFloatBytes)) {}

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    float* packed = static_cast<float*>(scratch_part(scratch, packed_));
    pack(context, floats(io.w), packed);
    patches_.each(context, floats(io.x), scratch, [&](int64_t, const Chunk& chunk, bool) {
      for (int64_t block = 0; block < blocks_; ++block) run_block(chunk, block, packed, io);
    });
  }

 private:
  /// Drops the rows of padding channels, whose distances would leave most of a first-level cache unused.
  void pack(Context& context, const float* w, float* packed) const {
    parallel_ranges(context, blocks_ * taps_, 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        store(packed + i * kLanes, load(w + i / taps_ * block_weights() + patches_.weights_of(i % taps_)));
    });
  }

  void run_block(const Chunk& chunk, int64_t block, const float* packed, const ConvOperands& io) const {
    const int lanes = lanes_of_block(block);
    const Lanes bias = lanes_of(io.bias ? load_some(floats(io.bias) + block * kLanes, lanes) : Vec16f{});
    float* y = floats(io.y) + in_y(chunk, block);
    const int64_t slices = ceil_of(taps_ * kLanes * kFloatBytes, kWeightBytes);
    for (int64_t slice = 0; slice < slices; ++slice) {
      const int64_t first = taps_ * slice / slices, last = taps_ * (slice + 1) / slices;
      const bool gates = last == taps_ && activation_.gates();
      sum_all({chunk.patch, patches_.places().data(), patches_.taps().data() + first, last - first,
               packed + (block * taps_ + first) * kLanes, lanes, first == 0 ? bias.of : kZeros, y, sum_ || first > 0,
               gates ? activation_ : Activation()},
              chunk.places);
    }
    if (!activation_.gates()) activate_lanes(activation_.kind, y, chunk.places);
  }

  bool sum_;
  Activation activation_;
  int64_t packed_;  ///< packed weights, in scratch
};

/// Each strip has its own sums; they are added in order.
class FirstWeights final : public First {
 public:
  FirstWeights(const ConvRequest& request, int pieces)
      : First(request.shape, pieces), sums_(scratch_.add(patches_.strips() * strip_sums() * kFloatBytes)) {}

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    float* sums = static_cast<float*>(scratch_part(scratch, sums_));
    patches_.each(context, floats(io.x), scratch, [&](int64_t strip, const Chunk& chunk, bool first) {
      for (int64_t block = 0; block < blocks_; ++block)
        add_chunk(chunk, floats(io.dy) + in_y(chunk, block), lanes_of_block(block),
                  sums + strip * strip_sums() + block * block_sums(), !first, io.d);
    });
    add_strips(context, sums, io.d);
  }

 private:
  /// Sums per tap, and for the bias at the end.
  int64_t block_sums() const { return (taps_ + 1) * kLanes; }
  int64_t strip_sums() const { return blocks_ * block_sums(); }

  void add_chunk(const Chunk& chunk, const float* dy, int lanes, float* sums, bool add,
                 const WeightGradients& d) const {
    if (d.w)
      sum_all({chunk.patch, patches_.taps().data(), patches_.places().data(), chunk.places, dy, lanes, kZeros, sums,
               add, Activation()},
              taps_);
    if (!d.bias) return;
    float* to = sums + taps_ * kLanes;
    Vec16f sum{};
    for (int64_t place = 0; place < chunk.places; ++place) sum += load(dy + place * kLanes);
    store(to, add ? load(to) + sum : sum);
  }

  void add_strips(Context& context, const float* sums, const WeightGradients& d) const {
    if (d.w && !d.add_w) std::fill_n(d.w, blocks_ * block_weights(), 0.0f);  // includes the rows of padding channels
    parallel_ranges(context, blocks_ * (taps_ + 1), 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t block = i / (taps_ + 1), tap = i % (taps_ + 1);
        if (!(tap < taps_ ? d.w : d.bias)) continue;
        Vec16f sum{};
        for (int64_t strip = 0; strip < patches_.strips(); ++strip)
          sum += load(sums + strip * strip_sums() + i * kLanes);
        if (tap < taps_)
          add_to(d.w + block * block_weights() + patches_.weights_of(tap), sum, kLanes, true);
        else
          add_to(d.bias + block * kLanes, sum, lanes_of_block(block), d.add_bias);
      }
    });
  }

  static void add_to(float* to, const Vec16f& sum, int lanes, bool add) {
    store_some(to, add ? load_some(to, lanes) + sum : sum, lanes);
  }

  int64_t sums_;  ///< in scratch
};

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!takes(s.dtype, why)) return nullptr;
  if (direction == ConvDirection::kBackwardData) return why = "images have no gradient", nullptr;
  if (s.spatial_axes != 2) return why = "not two spatial axes", nullptr;
  if (s.x_layout != Layout::kPlain || s.y_layout != Layout::kBlocked16)
    return why = "not from plain to blocks", nullptr;
  if (s.groups > 1 || s.c > kMaxChannels) return why = "groups, or many channels", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  if (!Patches::fit(s)) return why = "too large", nullptr;
  if (request.w_format && !request.w_format->is_blocked16()) return why = "unsupported weight format", nullptr;
  if (direction == ConvDirection::kForward) return std::make_unique<FirstForward>(request, context.pieces);
  return std::make_unique<FirstWeights>(request, context.pieces);
}

/// Arithmetic on whole registers of channels, and y or dy through memory: measured with AVX2. For AVX-512 a guess, well
/// below oneDNN's.
double cost(const ConvRequest& request, ConvDirection, CpuLevel level) {
  const ConvShape& s = request.shape;
  constexpr double kBytes = 1.3e10;
  const double rate = level == CpuLevel::kAvx512 ? 6e10 : 7.5e10, k = double(ceil_of(s.k, kWidth) * kWidth);
  return 2 * double(s.macs()) * k / double(s.k) / rate + double(s.y().bytes()) / kBytes;
}

}  // namespace

ConvCandidate first_conv_candidate() { return {"first", make, cost, &CpuLevels::own, ConvAlgorithm::kDirect}; }

}  // namespace cortado::kernels
