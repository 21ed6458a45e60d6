// Convolution of blocked tensors with one group on AMX tiles, with operands split into three parts
// (kernels/cpu/amx/amx.h).
//
// A tile row is one position with 32 channels. The rows of all images are split and stored one below the other, with
// their padding. A stride of s creates s x s such layouts, one for every s-th row and column. A tap is then a constant
// offset: the rows of a tile are adjacent output positions, and each tap starts at its offset. Positions in the padding
// between columns and rows are computed, too, and discarded.
//
// Each thread splits the positions that it needs, even if others split them, too: reading lines that another core has
// just written costs more. Filters are split while tiles multiply (kernels/cpu/amx/split_filters.h).

#include "kernels/cpu/amx/conv_amx.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/threads/threads.h"
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

constexpr int64_t kChunkBytes = 1 << 20;  ///< of split positions per core
constexpr int64_t kFewPlaces = 128, kManyPlaces = 1024;
constexpr int64_t kTogether = 2;  ///< blocks of outputs

/// Forward, and backward_data with stride 1, which swaps the sides and flips the filters.
class AmxConv final : public ConvKernel {
 public:
  AmxConv(const ConvRequest& request, bool to_x, const Context& context)
      : request_(request),
        to_x_(to_x),
        sum_(request.post.sum && !to_x),
        activation_(to_x ? Activation() : request.post.activation),
        from_blocks_(blocks_of(to_x ? request.shape.k : request.shape.c)),
        to_blocks_(blocks_of(to_x ? request.shape.c : request.shape.k)),
        h_(axis(request.shape.h)),
        w_(axis(request.shape.w)),
        filters_(from_blocks_, to_blocks_, h_.taps * w_.taps, to_x) {
    const int64_t planes = pairs() * layouts(), few = (kFewPlaces + w_.pitch - 1) / w_.pitch;
    const int64_t fit = kChunkBytes / (planes * kParts * kRow);
    const int64_t most = std::max<int64_t>(1, std::clamp(fit, kFewPlaces, kManyPlaces) / w_.pitch);
    parts_ = std::clamp<int64_t>(rows() / few, 1, context.threads);
    const int64_t rows_of_part = (rows() + parts_ - 1) / parts_;
    chunk_ = rows_at_a_time(rows_of_part, most);
    chunks_ = (rows_of_part + chunk_ - 1) / chunk_;
    plane_ = ((chunk_ + h_.span) * w_.pitch + w_.span + kRows) * kRow;
    for (int64_t pair = 0; pair < pairs(); ++pair)
      for (int64_t r = 0; r < h_.taps; ++r)
        for (int64_t t = 0; t < w_.taps; ++t)
          steps_.push_back(plane_at(pair, layout_of(h_, w_, r, t)) + place_of(h_, w_, r, t) * kRow);
    split_.resize(size_t(context.threads));
    for (int worker = 0; worker < context.threads; ++worker)
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
    std::fill(split_.begin(), split_.end(), -1);
    in_pieces(context, parts_ * chunks_ * items_of_chunk(), [&](int64_t item, int worker) {
      const Tiles tiles;
      run_item(item, work, chunk_of(scratch, size_t(worker)), split_[size_t(worker)]);
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
  /// Offsets of one worker: split rows of all images; the target of each position's first 16 outputs, -1 for none; the
  /// split filters of 32 outputs.
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

  /// The number of rows per chunk that best fills whole columns of tiles. Each chunk splits the filters again, which
  /// takes a quarter of a column's time.
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

  /// An item is a chunk of rows and 32 outputs; items of one chunk are consecutive. `split`: the chunk whose rows are
  /// in `chunk`.
  void run_item(int64_t item, const Work& work, const Chunk& chunk, int64_t& split) const {
    const int64_t index = item / items_of_chunk(), part = index / chunks_;
    const int64_t row = rows() * part / parts_ + index % chunks_ * chunk_;
    const int64_t count = std::min(chunk_, rows() * (part + 1) / parts_ - row);
    if (count <= 0) return;
    if (std::exchange(split, index) != index) split_rows(work.from, row, count, chunk);
    multiply_blocks(work, item % items_of_chunk() * kTogether, count * w_.pitch, chunk);
  }

  void split_rows(const float* from, int64_t row, int64_t count, const Chunk& chunk) const {
    for (int64_t pair = 0; pair < pairs(); ++pair) split_pair_of_blocks(from, row, count + h_.span, pair, chunk);
    for (int64_t i = 0; i < count; ++i) find_targets(row + i, chunk.targets + i * w_.pitch);
    std::fill_n(chunk.targets + count * w_.pitch, kRows, int64_t(-1));
  }

  /// Splits `rows` rows of all images from `row` on, with the zero padding after them, in every layout.
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

  /// Splits every stride-th element of a line from x on; zeros outside the line, or if it does not exist.
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

  /// Computes up to 32 outputs at all positions of a chunk. The first column of tiles splits the filters. They are kept
  /// if more positions follow, else only two steps of them. Later positions use 2 x 2 tiles, which needs less bandwidth
  /// of the second-level cache.
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
  int64_t parts_ = 1, chunks_ = 1;  ///< of the rows; per part
  int64_t chunk_ = 1, plane_ = 0;   ///< rows per chunk; bytes of one part of their values
  std::vector<int64_t> steps_;      ///< start of each step in bytes
  ScratchLayout scratch_;
  std::vector<Offsets> workers_;  ///< one per thread
  std::vector<int64_t> split_;    ///< the chunk that each has split
};

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!amx::is_here()) return why = "this CPU has no AMX", nullptr;
  if (!takes(s.dtype, why)) return nullptr;
  if (s.spatial_axes != 2 || s.groups != 1) return why = "groups, or not two spatial axes", nullptr;
  if (s.x_layout != Layout::kBlocked16 || s.y_layout != Layout::kBlocked16) return why = "not in blocks", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  if (request.w_format && !request.w_format->is_blocked16()) return why = "unsupported weight format", nullptr;
  if (direction == ConvDirection::kForward) return std::make_unique<AmxConv>(request, false, context);
  if (direction == ConvDirection::kBackwardWeights) return make_amx_backward_weights(request, context.pieces);
  if (s.h.stride != 1 || s.w.stride != 1) return why = "the stride is not 1", nullptr;
  return std::make_unique<AmxConv>(request, true, context);
}

/// Six products of parts each, at two thirds of the tiles' peak, including incomplete windows of x; plus splitting and
/// writing.
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
