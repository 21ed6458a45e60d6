// Convolution of blocked tensors, one group, by AMX's tiles with operands split into three parts
// (kernels/cpu/amx/amx.h).
//
// A tile's row is one place with 32 channels. The images' rows are laid out below each other, split, with what their
// windows reach beyond them; a stride of s makes s x s such layouts, of every s-th row and column. So a tap is a
// distance: the rows of a tile are neighbouring places of the output, and for each tap begin that far away. Places
// between the images' columns and rows are computed, too, and left out.
//
// Each thread splits the places that it works on for itself, though others may split the same: lines that another core
// wrote last cost more than splitting. Filters are split while tiles multiply (kernels/cpu/amx/split_filters.h).

#include "kernels/cpu/amx/conv_amx.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/threads/threads.h"
#include "core/threads/work_stealing.h"
#include "kernels/cpu/amx/amx.h"
#include "kernels/cpu/amx/split_filters.h"
#include "kernels/cpu/conv_reach.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/cpu/vec16f.h"
#include "kernels/cpu/winograd/winograd_tiles.h"
#include "kernels/scratch.h"

namespace cortado::kernels {

#ifdef CORTADO_WITH_AMX

namespace {

using namespace amx;

constexpr int64_t kChunkBytes = 1 << 20;  ///< of split places that a core works on
constexpr int64_t kFewPlaces = 128, kManyPlaces = 1024;
constexpr int64_t kTogether = 2;  ///< blocks of outputs

/// Forward, and backward_data of stride 1 with the sides exchanged and the filters turned round.
class AmxConv final : public ConvKernel {
 public:
  AmxConv(const ConvRequest& request, bool to_x, int threads)
      : request_(request),
        to_x_(to_x),
        sum_(request.post.sum && !to_x),
        activation_(to_x ? Activation() : request.post.activation),
        from_blocks_(blocks_of(to_x ? request.shape.k : request.shape.c)),
        to_blocks_(blocks_of(to_x ? request.shape.c : request.shape.k)),
        h_(axis(request.shape.h)),
        w_(axis(request.shape.w)),
        filters_(from_blocks_, to_blocks_, h_.taps * w_.taps, to_x),
        shares_(threads) {
    const int64_t planes = pairs() * layouts(), few = (kFewPlaces + w_.pitch - 1) / w_.pitch;
    const int64_t fit = kChunkBytes / (planes * kParts * kRow);
    const int64_t most = std::max<int64_t>(1, std::clamp(fit, kFewPlaces, kManyPlaces) / w_.pitch);
    parts_ = std::clamp<int64_t>(rows() / few, 1, threads);
    const int64_t rows_of_part = (rows() + parts_ - 1) / parts_;
    chunk_ = rows_at_a_time(rows_of_part, most);
    chunks_ = (rows_of_part + chunk_ - 1) / chunk_;
    plane_ = ((chunk_ + h_.span) * w_.pitch + w_.span + kRows) * kRow;
    for (int64_t pair = 0; pair < pairs(); ++pair)
      for (int64_t r = 0; r < h_.taps; ++r)
        for (int64_t t = 0; t < w_.taps; ++t)
          steps_.push_back(plane_at(pair, layout_of(h_, w_, r, t)) + place_of(h_, w_, r, t) * kRow);
    for (int64_t worker = 0; worker < threads; ++worker)
      workers_.push_back({scratch_.add(planes * kParts * plane_),
                          scratch_.add((chunk_ * w_.pitch + kRows) * int64_t(sizeof(int64_t))),
                          scratch_.add(kTogether * filters_.bytes_of_block())});
  }

  std::string name() const override { return "amx"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(request_.shape.weight(), 1); }
  int64_t scratch() const override { return scratch_.bytes(); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const Work work{floats(to_x_ ? io.dy : io.x), floats(io.w), to_x_ ? nullptr : floats(io.bias),
                    floats(to_x_ ? io.dx : io.y)};
    shares_.deal(parts_ * chunks_ * items_of_chunk());
    parallel_ranges(context, shares_.workers(), 1, [&](int64_t begin, int64_t end) {
      const Tiles tiles;
      for (int64_t worker = begin; worker < end; ++worker) run_worker(worker, work, chunk_of(scratch, size_t(worker)));
    });
  }

 private:
  struct Work {
    const float *from, *filters, *bias;
    float* to;
  };
  struct Offsets {
    int64_t split, targets, filters;  ///< in scratch
  };
  /// What one worker has: rows of all images, split; where each place's first 16 outputs go, -1 for none; the filters
  /// of 32 outputs, split.
  struct Chunk {
    char* split;
    int64_t* targets;
    char* filters;
  };

  Reach axis(const ConvAxis& a) const { return to_x_ ? Reach(a.out(), a.in, a, true) : Reach(a.in, a.out(), a, false); }
  int64_t pairs() const { return (from_blocks_ + 1) / 2; }
  int64_t rows() const { return h_.outputs(request_.shape.n); }
  int64_t items_of_chunk() const { return (to_blocks_ + kTogether - 1) / kTogether; }
  int64_t layouts() const { return int64_t(h_.phases.size() * w_.phases.size()); }
  Chunk chunk_of(void* scratch, size_t worker) const {
    const Offsets& at = workers_[worker];
    return {static_cast<char*>(scratch_part(scratch, at.split)),
            static_cast<int64_t*>(scratch_part(scratch, at.targets)),
            static_cast<char*>(scratch_part(scratch, at.filters))};
  }
  int64_t plane_at(int64_t pair, int64_t layout) const { return (pair * layouts() + layout) * kParts * plane_; }

  /// So many that tiles come in whole columns, as near as may be; each chunk splits the filters again, a quarter of a
  /// column's time.
  int64_t rows_at_a_time(int64_t rows, int64_t most) const {
    int64_t best = 1, least = std::numeric_limits<int64_t>::max();
    for (int64_t chunk = 1; chunk <= std::min(rows, most); ++chunk) {
      const auto quarters = [&](int64_t part) { return part ? 4 * columns(part * w_.pitch) + 1 : 0; };
      const int64_t time = rows / chunk * quarters(chunk) + quarters(rows % chunk);
      if (time <= least) least = time, best = chunk;
    }
    return best;
  }
  static int64_t columns(int64_t places) { return (places + kMaxDown * kRows - 1) / (kMaxDown * kRows); }

  /// An item is a chunk of rows and 32 outputs; those of one chunk follow each other.
  void run_worker(int64_t worker, const Work& work, const Chunk& chunk) {
    int64_t split = -1;
    for (int64_t item; (item = shares_.next(worker)) >= 0;) {
      const int64_t index = item / items_of_chunk(), part = index / chunks_;
      const int64_t row = rows() * part / parts_ + index % chunks_ * chunk_;
      const int64_t count = std::min(chunk_, rows() * (part + 1) / parts_ - row);
      if (count <= 0) continue;
      if (index != split) split_rows(work.from, row, count, chunk);
      split = index;
      multiply_blocks(work, item % items_of_chunk() * kTogether, count * w_.pitch, chunk);
    }
  }

  void split_rows(const float* from, int64_t row, int64_t count, const Chunk& chunk) const {
    for (int64_t pair = 0; pair < pairs(); ++pair) split_pair_of_blocks(from, row, count + h_.span, pair, chunk);
    for (int64_t i = 0; i < count; ++i) find_targets(row + i, chunk.targets + i * w_.pitch);
    std::fill_n(chunk.targets + count * w_.pitch, kRows, int64_t(-1));
  }

  /// `rows` of all images' rows from `row` on, and the zeros that windows reach behind them, in every layout.
  void split_pair_of_blocks(const float* from, int64_t row, int64_t rows, int64_t pair, const Chunk& chunk) const {
    const int64_t size = h_.in * w_.in * kLanes;
    for (size_t fy = 0; fy < h_.phases.size(); ++fy)
      for (size_t fx = 0; fx < w_.phases.size(); ++fx) {
        char* to = chunk.split + plane_at(pair, int64_t(fy * w_.phases.size() + fx));
        const int64_t x = w_.element(0, int64_t(fx));
        for (int64_t i = row; i < row + rows; ++i, to += w_.pitch * kRow) {
          const int64_t image = i / h_.pitch, y = h_.element(i % h_.pitch, int64_t(fy));
          const bool inside = image < request_.shape.n && y >= 0 && y < h_.in;
          const float* first = from + (image * from_blocks_ + 2 * pair) * size + y * w_.in * kLanes;
          split_line(inside ? first : nullptr, inside && 2 * pair + 1 < from_blocks_ ? first + size : nullptr, x,
                     w_.pitch, to);
        }
        split_line(nullptr, nullptr, 0, w_.out + w_.span - w_.pitch, to);
      }
  }

  /// Every stride-th element of a line from x on; zeros outside of it, and where there is no line.
  void split_line(const float* first, const float* second, int64_t x, int64_t places, char* to) const {
    for (int64_t place = 0; place < places; ++place, x += w_.stride, to += kRow) {
      const bool inside = x >= 0 && x < w_.in;
      split_row(inside && first ? _mm512_loadu_ps(first + x * kLanes) : _mm512_setzero_ps(),
                inside && second ? _mm512_loadu_ps(second + x * kLanes) : _mm512_setzero_ps(), to, plane_);
    }
  }

  void find_targets(int64_t row, int64_t* targets) const {
    const int64_t image = row / h_.pitch, y = row % h_.pitch;
    for (int64_t x = 0; x < w_.pitch; ++x)
      targets[x] = y < h_.out && x < w_.out ? ((image * to_blocks_ * h_.out + y) * w_.out + x) * kLanes : -1;
  }

  /// Up to 32 outputs at all places of a chunk. The first column of tiles splits the filters as it goes; they are kept
  /// where other places follow, else two steps of them. Those go by two tiles of places and two of outputs, which
  /// brings fewer bytes from the second cache.
  void multiply_blocks(const Work& work, int64_t block, int64_t places, const Chunk& chunk) const {
    const int64_t tiles = (places + kRows - 1) / kRows, steps = filters_.steps(), bytes = filters_.bytes_of_block();
    const int64_t blocks = std::min(kTogether, to_blocks_ - block), column = std::min(kMaxDown, tiles);
    alignas(64) float sums[kMaxDown * 256];
    for (int64_t i = 0; i < blocks; ++i) {
      const float* filters = filters_.of_block(work.filters, block + i);
      multiply_column(
          column, {chunk.split, steps_.data(), plane_}, {chunk.filters + i * bytes, tiles == column}, steps,
          [&](int64_t step, int quarter, char* to) { filters_.split(filters, step, quarter, to); }, sums);
      for (int64_t tile = 0; tile < column; ++tile)
        write(work, block + i, chunk.targets + tile * kRows, sums + tile * 256);
    }
    for (int64_t first = column; first < tiles; first += 2) {
      const bool two = first + 1 < tiles;
      multiply(two, blocks == 2, {chunk.split + first * kTile, steps_.data(), plane_}, {chunk.filters, bytes}, steps,
               sums);
      for (int64_t i = 0; i < blocks; ++i)
        for (int64_t tile = 0; tile < 1 + two; ++tile)
          write(work, block + i, chunk.targets + (first + tile) * kRows, sums + (2 * tile + i) * 256);
    }
  }

  void write(const Work& work, int64_t block, const int64_t* targets, const float* sums) const {
    const int left = int(std::min<int64_t>(kLanes, (to_x_ ? request_.shape.c : request_.shape.k) - block * kLanes));
    const Vec16f bias = work.bias ? load_some(work.bias + block * kLanes, left) : Vec16f{};
    const Vec16f ceiling = spread(activation_.ceiling);
    float* to = work.to + block * h_.out * w_.out * kLanes;
    with_activation(activation_.kind, [&](auto kind) {
      for (int64_t row = 0; row < kRows; ++row) {
        if (targets[row] < 0) continue;
        Vec16f value = load(sums + row * kLanes) + bias;
        if (sum_) value += load(to + targets[row]);
        store(to + targets[row], activated(kind, ceiling, value));
      }
    });
  }

  ConvRequest request_;
  bool to_x_, sum_;
  Activation activation_;
  int64_t from_blocks_, to_blocks_;
  Reach h_, w_;
  SplitFilters filters_;
  int64_t parts_ = 1, chunks_ = 1;  ///< of the rows; of each part
  int64_t chunk_ = 1, plane_ = 0;   ///< rows at a time; bytes of one part of their values
  std::vector<int64_t> steps_;      ///< where each begins, in bytes
  ScratchLayout scratch_;
  std::vector<Offsets> workers_;  ///< one for each thread
  WorkStealingRange shares_;
};

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!amx::is_here()) return why = "this CPU has no AMX", nullptr;
  if (!takes(s.dtype, why)) return nullptr;
  if (s.spatial_axes != 2 || s.groups != 1) return why = "groups, or other than two axes", nullptr;
  if (s.x_layout != Layout::kBlocked16 || s.y_layout != Layout::kBlocked16) return why = "not in blocks", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  if (request.w_format && !request.w_format->is_blocked16()) return why = "the weights lie otherwise", nullptr;
  if (direction == ConvDirection::kForward) return std::make_unique<AmxConv>(request, false, context.threads);
  if (direction == ConvDirection::kBackwardWeights) return make_amx_backward_weights(request, context.threads);
  if (s.h.stride != 1 || s.w.stride != 1) return why = "a stride", nullptr;
  return std::make_unique<AmxConv>(request, true, context.threads);
}

/// Six products of parts each, at two thirds of what the tiles do, also for places of x that no window reaches whole;
/// what is split, and what is written.
double cost(const ConvRequest& request, ConvDirection direction, CpuLevel) {
  const ConvShape& s = request.shape;
  const double c = double(blocks_of(s.c) * kLanes), k = double(blocks_of(s.k) * kLanes);
  double padded = double(s.macs()) * c / double(s.c) * k / double(s.k);
  if (direction == ConvDirection::kBackwardData) padded *= double(s.h.in * s.w.in) / double(s.h.out() * s.w.out());
  return padded / 1.5e11 + double(s.x().shape.count() + s.y().shape.count()) * 2e-10;
}

}  // namespace

std::vector<ConvCandidate> amx_conv_candidates() { return {{"amx", make, cost, &CpuLevels::own, ConvAlgorithm::kAmx}}; }

#else

std::vector<ConvCandidate> amx_conv_candidates() { return {}; }

#endif

}  // namespace cortado::kernels
