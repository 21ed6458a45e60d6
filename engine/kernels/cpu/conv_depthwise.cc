// Depthwise convolution of blocked tensors: every channel is a group with one input and one output, so 16 channels are
// 16 independent lanes. For CPUs without AVX-512, on which libraries use blocks of 8 channels and would need reorders.
//
// Forward and backward_data keep the sums of a few positions of a row in registers and iterate over the taps. Each
// product needs a load of x, which is the limit of a core. Border columns, which have fewer taps, are summed vertically
// instead. Backward_weights keeps a few taps of a kernel row in registers and iterates over positions.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/threads/threads.h"
#include "kernels/conv.h"
#include "kernels/cpu/blocked_product.h"
#include "kernels/cpu/conv_phases.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

constexpr int kSums = 12 / kRegisters;      ///< 16-lane sums in registers, which leave four of 16 registers free
constexpr int64_t kItemsPerPiece = 2;       ///< at least, for load balance
constexpr int64_t kChunkBytes = 192 << 10;  ///< read and written by a chunk of rows: fits the second-level cache
constexpr double kCachedBytes = 2 << 20;    ///< x and y that stay in the second-level caches between two layers
constexpr int64_t kPlacesAtOnce = 112;      ///< positions of dy that fit the first-level cache, with their x
constexpr int64_t kParts = 64;              ///< parts of backward_weights, independent of the number of threads

/// Consecutive positions, rows or taps.
struct Range {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

/// One axis of `extent` elements as read by positions of a phase.
struct Line {
  AxisPhase phase;
  int64_t extent;
  Range inside{};  ///< the positions that read every tap

  Line(const AxisPhase& of, int64_t extent_) : phase(of), extent(extent_) {
    Range all{0, phase.count};
    const auto lacks_taps = [&](int64_t place) { return taps(place).count() < int64_t(phase.taps.size()); };
    while (all.count() > 0 && lacks_taps(all.begin)) ++all.begin;
    while (all.count() > 0 && lacks_taps(all.end - 1)) --all.end;
    inside = all;
  }
  /// The taps inside the axis. They are consecutive, because offsets are monotonic.
  Range taps(int64_t place) const {
    Range range{0, int64_t(phase.taps.size())};
    if (place >= inside.begin && place < inside.end) return range;
    while (range.count() > 0 && outside(place, range.begin)) ++range.begin;
    while (range.count() > 0 && outside(place, range.end - 1)) --range.end;
    return range;
  }
  /// The positions of elements [begin, end) of the result.
  Range places(const Range& of) const {
    const auto first_from = [&](int64_t i) { return ceil_of(std::max<int64_t>(0, i - phase.first), phase.step_out); };
    return {first_from(of.begin), std::min(phase.count, first_from(of.end))};
  }

 private:
  bool outside(int64_t place, int64_t tap) const {
    const int64_t at = place * phase.step_in + phase.taps[size_t(tap)].offset;
    return at < 0 || at >= extent;
  }
};

/// Calls use(range) for ranges of positions with the same taps: interior ones together, border ones one by one.
template <typename Use>
void each_alike(const Line& line, const Range& places, const Use& use) {
  const int64_t begin = std::clamp(line.inside.begin, places.begin, places.end),
                end = std::clamp(line.inside.end, begin, places.end);
  for (int64_t i = places.begin; i < begin; ++i) use(Range{i, i + 1});
  if (begin < end) use(Range{begin, end});
  for (int64_t i = end; i < places.end; ++i) use(Range{i, i + 1});
}

std::vector<Line> lines_of(const std::vector<AxisPhase>& phases, int64_t extent) {
  std::vector<Line> lines;
  for (const AxisPhase& phase : phases) lines.emplace_back(phase, extent);
  return lines;
}

/// A tap of both axes: the offsets of its input and of its weights, in floats.
struct Tap {
  int64_t from, weights;
};

/// Adjacent positions of the result that read the same taps: `rows` x `columns` of a list with `pitch` taps per kernel
/// row. Strides are in floats.
struct Run {
  const Tap* taps;
  int64_t rows, columns, pitch;
  const float* from;     ///< input of the first position at offset 0
  int64_t step;          ///< between the inputs of two positions
  const float* weights;  ///< of the block
  const float* bias;     ///< 16 values
  const float* added;    ///< accumulated input of the first position; null: none
  float* to;
  int64_t to_step;  ///< between positions of the result, and of `added`
  float low, high;  ///< clipping bounds of the result
};

/// Sums `tiles` tiles of kCount positions. `kStep`: the run's step if known at compile time, else 0.
template <int kStep, int kCount>
void sum_tiles(const Run& given, int64_t tiles) {
  const Run run = given;  // a local copy, which the compiler knows that stores do not change
  const int64_t step = kStep ? kStep : run.step;
  const RegisterVec low = spread<RegisterVec>(run.low), high = spread<RegisterVec>(run.high);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const float* from = run.from + tile * kCount * step;
    RegisterVec sum[kCount][kRegisters];
#pragma GCC unroll 16
    for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
      for (int v = 0; v < kRegisters; ++v) sum[p][v] = load<RegisterVec>(run.bias + v * kWidth);
    for (int64_t r = 0; r < run.rows; ++r) {
      const Tap *tap = run.taps + r * run.pitch, *end = tap + run.columns;
      for (; tap != end; ++tap) {
        const float *at = from + tap->from, *w = run.weights + tap->weights;
        RegisterVec weight[kRegisters];
#pragma GCC unroll 4
        for (int v = 0; v < kRegisters; ++v) weight[v] = load<RegisterVec>(w + v * kWidth);
#pragma GCC unroll 16
        for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
          for (int v = 0; v < kRegisters; ++v) sum[p][v] += load<RegisterVec>(at + p * step + v * kWidth) * weight[v];
      }
    }
    const int64_t first = tile * kCount * run.to_step;
    if (run.added)
#pragma GCC unroll 16
      for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < kRegisters; ++v)
          sum[p][v] += load<RegisterVec>(run.added + first + p * run.to_step + v * kWidth);
#pragma GCC unroll 16
    for (int p = 0; p < kCount; ++p)
#pragma GCC unroll 4
      for (int v = 0; v < kRegisters; ++v)
        store(run.to + first + p * run.to_step + v * kWidth, smaller(larger(low, sum[p][v]), high));
  }
}

using SumTiles = void (*)(const Run&, int64_t tiles);
template <int kStep, int... kCount>
constexpr std::array<SumTiles, sizeof...(kCount)> all_sum_tiles(std::integer_sequence<int, kCount...>) {
  return {sum_tiles<kStep, kCount + 1>...};
}
using Counts = std::make_integer_sequence<int, kSums>;
constexpr auto kSumTiles = all_sum_tiles<0>(Counts()), kSumTilesBeside = all_sum_tiles<kLanes>(Counts());

/// Uses as few tiles as possible, with sizes that differ by at most one. Advances the run.
void sum_run(Run& run, int64_t places) {
  const auto& all = run.step == kLanes ? kSumTilesBeside : kSumTiles;
  const int64_t tiles = ceil_of(places, kSums), size = places / tiles, larger_ones = places % tiles;
  if (larger_ones > 0) {
    all[size_t(size)](run, larger_ones);
    const int64_t done = larger_ones * (size + 1);
    run.from += done * run.step;
    run.to += done * run.to_step;
    if (run.added) run.added += done * run.to_step;
  }
  all[size_t(size - 1)](run, tiles - larger_ones);
}

/// Forward, and backward_data with swapped sides.
class Depthwise final : public ConvKernel {
 public:
  Depthwise(const ConvRequest& request, bool to_x, int pieces)
      : s_(request.shape),
        to_x_(to_x),
        sum_(request.post.sum && !to_x),
        activation_(to_x ? Activation() : request.post.activation),
        blocks_(blocks_of(s_.c)),
        height_(to_x ? s_.h.out() : s_.h.in),
        width_(to_x ? s_.w.out() : s_.w.in),
        to_height_(to_x ? s_.h.in : s_.h.out()),
        to_width_(to_x ? s_.w.in : s_.w.out()),
        rows_(lines_of(to_x ? backward_phases(s_.h) : forward_phases(s_.h), height_)),
        columns_(lines_of(to_x ? backward_phases(s_.w) : forward_phases(s_.w), width_)) {
    for (const Line& h : rows_)
      for (const Line& w : columns_) taps_.push_back(taps_of(h.phase, w.phase));
    const int64_t bytes = (height_ * width_ + to_height_ * to_width_) * kLanes * int64_t(sizeof(float));
    const int64_t wanted = std::max(ceil_of(kItemsPerPiece * pieces, s_.n * blocks_), bytes / kChunkBytes);
    chunks_ = std::clamp<int64_t>(wanted, 1, to_height_);
  }

  std::string name() const override { return "depthwise"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(s_.weight(), s_.groups); }
  SumPlace sum_place() const override { return SumPlace::kAnywhere; }
  int64_t scratch() const override { return 0; }

  void run(Context& context, const ConvOperands& io, void*) override {
    parallel_ranges(context, s_.n * blocks_ * chunks_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_item(i / chunks_, i % chunks_, io);
    });
  }

 private:
  std::vector<Tap> taps_of(const AxisPhase& h, const AxisPhase& w) const {
    std::vector<Tap> taps;
    for (const AxisPhase::Tap& r : h.taps)
      for (const AxisPhase::Tap& t : w.taps)
        taps.push_back({(r.offset * width_ + t.offset) * kLanes, (r.index * s_.w.kernel + t.index) * kLanes});
    return taps;
  }

  /// Computes a chunk of rows of one block of one image.
  void run_item(int64_t plane, int64_t chunk, const ConvOperands& io) const {
    const int64_t block = plane % blocks_, to = plane * to_height_ * to_width_ * kLanes;
    Lanes bias{};
    if (io.bias && !to_x_) {
      const int left = int(std::min<int64_t>(kLanes, s_.c - block * kLanes));
      bias = lanes_of(load_some(floats(io.bias) + block * kLanes, left));
    }
    const bool gates = activation_.gates();
    Run run{};
    run.from = floats(to_x_ ? io.dy : io.x) + plane * height_ * width_ * kLanes;
    run.weights = floats(io.w) + block * s_.h.kernel * s_.w.kernel * kLanes;
    run.bias = bias.of;
    run.added = sum_ ? floats(io.z) + to : nullptr;
    run.to = floats(to_x_ ? io.dx : io.y) + to;
    run.low = gates && activation_ ? 0.0f : -INFINITY;
    run.high = gates ? activation_.ceiling : INFINITY;
    const Range rows{to_height_ * chunk / chunks_, to_height_ * (chunk + 1) / chunks_};
    for (size_t h = 0; h < rows_.size(); ++h)
      each_alike(rows_[h], rows_[h].places(rows), [&](const Range& alike) { sum_rows(run, h, alike); });
    if (!gates) activate_lanes(activation_.kind, run.to + rows.begin * to_width_ * kLanes, rows.count() * to_width_);
  }

  /// Sums rows of one phase with the same kernel rows: border columns vertically, others row by row.
  void sum_rows(const Run& plane, size_t h, const Range& rows) const {
    for (size_t w = 0; w < columns_.size(); ++w) {
      const Line& line = columns_[w];
      for (int64_t j = 0; j < line.phase.count; ++j)
        if (j < line.inside.begin || j >= line.inside.end) sum_column(plane, h, w, rows, j);
    }
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (size_t w = 0; w < columns_.size(); ++w)
        if (columns_[w].inside.count() > 0) sum_row(plane, h, w, i);
  }

  void sum_column(const Run& plane, size_t h, size_t w, const Range& rows, int64_t column) const {
    const Range taps = columns_[w].taps(column);
    Run run = begin(plane, h, w, rows.begin, column, taps);
    run.step = rows_[h].phase.step_in * width_ * kLanes;
    run.to_step = rows_[h].phase.step_out * to_width_ * kLanes;
    sum_run(run, rows.count());
  }

  void sum_row(const Run& plane, size_t h, size_t w, int64_t row) const {
    const Line& line = columns_[w];
    Run run = begin(plane, h, w, row, line.inside.begin, {0, int64_t(line.phase.taps.size())});
    run.columns *= std::exchange(run.rows, 1);  // they are consecutive in the list
    run.step = line.phase.step_in * kLanes;
    run.to_step = line.phase.step_out * kLanes;
    sum_run(run, line.inside.count());
  }

  /// A run from a position on, of all taps of its row and of these kernel columns.
  Run begin(Run run, size_t h, size_t w, int64_t row, int64_t column, const Range& columns) const {
    const Line &vertical = rows_[h], &horizontal = columns_[w];
    const AxisPhase &i = vertical.phase, &j = horizontal.phase;
    const Range rows = vertical.taps(row);
    run.pitch = int64_t(j.taps.size());
    run.taps = taps_[h * columns_.size() + w].data() + rows.begin * run.pitch + columns.begin;
    run.rows = rows.count();
    run.columns = columns.count();
    run.from += (row * i.step_in * width_ + column * j.step_in) * kLanes;
    const int64_t to = ((i.first + row * i.step_out) * to_width_ + j.first + column * j.step_out) * kLanes;
    run.to += to;
    if (run.added) run.added += to;
    return run;
  }

  ConvShape s_;
  bool to_x_, sum_;
  Activation activation_;
  int64_t blocks_;
  int64_t height_, width_, to_height_, to_width_;  ///< of the input, and of the result
  std::vector<Line> rows_, columns_;               ///< per phase
  std::vector<std::vector<Tap>> taps_;             ///< per pair of phases
  int64_t chunks_ = 1;                             ///< chunks of rows per plane
};

/// The gradients of the weights and of the bias. The rows of all images are divided into parts, whose number depends
/// only on the shape. The parts' sums are stored in scratch and added in order.
class DepthwiseWeights final : public ConvKernel {
 public:
  explicit DepthwiseWeights(const ConvRequest& request)
      : s_(request.shape),
        blocks_(blocks_of(s_.c)),
        taps_(s_.h.kernel * s_.w.kernel),
        rows_(std::max<int64_t>(1, kPlacesAtOnce / s_.w.out())),
        parts_(std::clamp<int64_t>(kParts / blocks_, 1, s_.n * s_.h.out())),
        scratch_(blocks_ * parts_ * sums() * int64_t(sizeof(float))) {
    for (int64_t t = 0; t < s_.w.kernel; ++t) spans_.push_back(span_of(s_.w, t));
  }

  std::string name() const override { return "depthwise"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(s_.weight(), s_.groups); }
  int64_t scratch() const override { return scratch_; }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    float* sums_of_parts = static_cast<float*>(scratch);
    parallel_ranges(context, blocks_ * parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum_part(i / parts_, i % parts_, io, sums_of_parts + i * sums());
    });
    parallel_ranges(context, blocks_, 16, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) add_parts(block, sums_of_parts, io.d);
    });
  }

 private:
  /// The number of floats of a part's sums: per tap, and for dy alone.
  int64_t sums() const { return (taps_ + 1) * kLanes; }

  void sum_part(int64_t block, int64_t part, const ConvOperands& io, float* sum) const {
    const int64_t height = s_.h.out(), lines = s_.n * height, end = lines * (part + 1) / parts_;
    std::fill_n(sum, sums(), 0.0f);
    for (int64_t line = lines * part / parts_, next; line < end; line = next) {
      const int64_t image = line / height, row = line % height, plane = image * blocks_ + block;
      next = std::min({line + rows_, end, (image + 1) * height});
      const float* x = floats(io.x) + plane * s_.h.in * s_.w.in * kLanes;
      const float* dy = floats(io.dy) + plane * height * s_.w.out() * kLanes;
      if (io.d.w) add_rows(x, dy, row, row + next - line, sum);
      if (io.d.bias) add_bias(dy + row * s_.w.out() * kLanes, (next - line) * s_.w.out(), sum + taps_ * kLanes);
    }
  }

  static void add_bias(const float* dy, int64_t places, float* sum) {
    Vec16f of_rows{};  // partial sums keep small terms
    for (int64_t i = 0; i < places; ++i) of_rows += load(dy + i * kLanes);
    store(sum, load(sum) + of_rows);
  }

  void add_rows(const float* x, const float* dy, int64_t begin, int64_t end, float* sum) const {
    const int64_t width = s_.w.kernel, groups = ceil_of(width, kSums);
    for (int64_t r = 0; r < s_.h.kernel; ++r) {
      const TapSpan h = span_of(s_.h, r);
      const int64_t from = std::clamp(begin, h.begin, h.end), to = std::clamp(end, h.begin, h.end);
      if (from == to) continue;
      const Rows rows{x + (from * s_.h.stride + h.offset) * s_.w.in * kLanes,
                      dy + from * s_.w.out() * kLanes,
                      to - from,
                      s_.h.stride * s_.w.in * kLanes,
                      s_.w.out() * kLanes,
                      s_.w.stride * kLanes,
                      s_.w.dilation * kLanes};
      for (int64_t i = 0; i < groups; ++i) {
        const int64_t first = width * i / groups, last = width * (i + 1) / groups;
        kAddTaps[size_t(last - first - 1)](rows, spans_.data() + first, sum + (r * width + first) * kLanes);
      }
    }
  }

  /// Rows of dy and their inputs: for position j tap t reads x + j * x_step + its offset.
  struct Rows {
    const float *x, *dy;
    int64_t rows, x_row, dy_row, x_step, dilation;  ///< strides in floats
  };

  /// Adds the sums of kCount adjacent taps.
  template <int kCount>
  static void add_taps(const Rows& rows, const TapSpan* spans, float* to) {
    int64_t begin = spans[0].begin, end = spans[0].end;  // positions for which all taps are inside the image
    for (int t = 1; t < kCount; ++t) begin = std::max(begin, spans[t].begin), end = std::min(end, spans[t].end);
    end = std::max(begin, end);
    RegisterVec sum[kCount][kRegisters] = {};
    for (int64_t row = 0; row < rows.rows; ++row) {
      const float *x = rows.x + row * rows.x_row + spans[0].offset * kLanes, *dy = rows.dy + row * rows.dy_row;
      const auto add = [&](int t, int64_t place) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int v = 0; v < kRegisters; ++v)
          sum[t][v] += load<RegisterVec>(x + place * rows.x_step + t * rows.dilation + v * kWidth) *
                       load<RegisterVec>(dy + place * kLanes + v * kWidth);
      };
#pragma GCC unroll 16
      for (int t = 0; t < kCount; ++t)
        for (int64_t place = spans[t].begin; place < std::min(begin, spans[t].end); ++place) add(t, place);
      for (int64_t place = begin; place < end; ++place)
#pragma GCC unroll 16
        for (int t = 0; t < kCount; ++t) add(t, place);
#pragma GCC unroll 16
      for (int t = 0; t < kCount; ++t)
        for (int64_t place = std::max(end, spans[t].begin); place < spans[t].end; ++place) add(t, place);
    }
#pragma GCC unroll 16
    for (int t = 0; t < kCount; ++t)
#pragma GCC unroll 4
      for (int v = 0; v < kRegisters; ++v) {
        float* p = to + t * kLanes + v * kWidth;
        store(p, load<RegisterVec>(p) + sum[t][v]);
      }
  }

  using AddTaps = void (*)(const Rows&, const TapSpan*, float*);
  template <int... kCount>
  static constexpr std::array<AddTaps, sizeof...(kCount)> taps_of(std::integer_sequence<int, kCount...>) {
    return {add_taps<kCount + 1>...};
  }
  static const std::array<AddTaps, size_t(kSums)> kAddTaps;

  void add_parts(int64_t block, const float* parts, const WeightGradients& d) const {
    const float* first = parts + block * parts_ * sums();
    const int left = int(std::min<int64_t>(kLanes, s_.c - block * kLanes));
    for (int64_t i = 0; i <= taps_; ++i) {
      Vec16f sum = load(first + i * kLanes);
      for (int64_t part = 1; part < parts_; ++part) sum += load(first + part * sums() + i * kLanes);
      float* w = d.w ? d.w + (block * taps_ + i) * kLanes : nullptr;
      float* bias = d.bias ? d.bias + block * kLanes : nullptr;
      if (i < taps_ && w) store(w, d.add_w ? load(w) + sum : sum);
      if (i == taps_ && bias) store_some(bias, d.add_bias ? load_some(bias, left) + sum : sum, left);
    }
  }

  ConvShape s_;
  int64_t blocks_, taps_;
  int64_t rows_;  ///< rows of dy per iteration
  int64_t parts_;
  int64_t scratch_;
  std::vector<TapSpan> spans_;  ///< of columns, per tap
};

constexpr std::array<DepthwiseWeights::AddTaps, size_t(kSums)> DepthwiseWeights::kAddTaps =
    DepthwiseWeights::taps_of(Counts());

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!takes_blocked_images(s, why)) return nullptr;
  if (s.groups == 1 || s.groups != s.c || s.groups != s.k) return why = "groups of more than one channel", nullptr;
  if (!takes_blocked_weights(request, why)) return nullptr;
  if (direction == ConvDirection::kBackwardWeights) return std::make_unique<DepthwiseWeights>(request);
  return std::make_unique<Depthwise>(request, direction == ConvDirection::kBackwardData, context.pieces);
}

/// Rates of a core, measured with AVX2 on Zen 3; mostly bound by memory. dx with a stride is written with gaps. With
/// AVX-512 (Zen 4) forward is faster while x and y stay in the second-level caches, as for a single image. For larger
/// ones and for gradients the rates are the same, which ranks oneDNN first there.
double cost(const ConvRequest& request, ConvDirection direction, CpuLevel level) {
  const ConvShape& s = request.shape;
  const bool in_steps = direction == ConvDirection::kBackwardData && (s.h.stride > 1 || s.w.stride > 1);
  const double filled = double(blocks_of(s.c)) * kLanes / double(s.c);
  const double moved = double(s.x().bytes() + s.y().bytes()) * (in_steps ? 2 : 1);
  const bool cached = level == CpuLevel::kAvx512 && direction == ConvDirection::kForward && moved < kCachedBytes;
  const double flops = cached ? 9e10 : 5.5e10, bytes = cached ? 4e10 : 1.8e10;
  return 2 * double(s.macs()) * filled / flops + moved / bytes;
}

}  // namespace

ConvCandidate depthwise_conv_candidate() { return {"depthwise", make, cost, &CpuLevels::own, ConvAlgorithm::kDirect}; }

}  // namespace cortado::kernels
