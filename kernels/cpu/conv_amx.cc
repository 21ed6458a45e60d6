// Convolution of blocked tensors, one group, by AMX's tiles with operands split into three parts (kernels/cpu/amx.h).
//
// A tile's row is one place with 32 channels. The images' rows are laid out below each other, split, with what their
// windows reach beyond them; a stride of s makes s x s such layouts, of every s-th row and column. So a tap is a
// distance: the rows of a tile are neighbouring places of the output, and for each tap begin that far away. Places
// between the images' columns and rows are computed, too, and left out. A pair of 16 outputs goes over all places of a
// chunk while its filters are in the cache.

#include "kernels/cpu/conv_amx.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/conv_reach.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/split_filters.h"
#include "kernels/cpu/teams.h"
#include "kernels/scratch.h"

namespace cortado::kernels {

#ifdef CORTADO_WITH_AMX

namespace {

using namespace amx;

constexpr int64_t kChunkBytes = 768 << 10;  ///< of split places that a core works on
constexpr int64_t kFewPlaces = 128, kManyPlaces = 1024;

/// Forward, and backward_data of stride 1 with the sides exchanged and the filters turned round.
class AmxConv final : public ConvKernel {
 public:
  AmxConv(const ConvRequest& request, bool to_x, bool stored, int threads)
      : request_(request),
        to_x_(to_x),
        stored_(stored),
        from_blocks_(blocks_of(to_x ? request.shape.k : request.shape.c)),
        to_blocks_(blocks_of(to_x ? request.shape.c : request.shape.k)),
        h_(axis(request.shape.h)),
        w_(axis(request.shape.w)),
        filters_(from_blocks_, to_blocks_, h_.taps * w_.taps, to_x) {
    const int64_t planes = pairs() * layouts(), rows = request.shape.n * h_.places();
    const int64_t fit = kChunkBytes / (planes * kParts * kRow);
    const int64_t places = std::clamp(fit, kFewPlaces, kManyPlaces);
    const int64_t wanted = std::max<int64_t>(1, places / w_.places());
    teams_ = rows >= wanted * threads ? threads : 1;
    chunk_ = std::min(wanted, (rows + teams_ - 1) / teams_);
    plane_ = ((chunk_ + h_.span) * w_.places() + w_.span + 2 * kRows) * kRow;
    for (int64_t pair = 0; pair < pairs(); ++pair)
      for (int64_t r = 0; r < h_.taps; ++r)
        for (int64_t t = 0; t < w_.taps; ++t) steps_.push_back(step(pair, r, t));
    if (!stored_) filters_at_ = scratch_.add(filters_.bytes());
    for (int64_t team = 0; team < teams_; ++team)
      chunks_at_.push_back({scratch_.add(planes * kParts * plane_),
                            scratch_.add((chunk_ * w_.places() + 2 * kRows) * int64_t(sizeof(int64_t)))});
  }

  std::string name() const override { return "amx"; }
  WeightFormat weight_format() const override {
    const ConvShape& s = request_.shape;
    return stored_ ? split_format(s) : WeightFormat::blocked16(s.weight(), 1);
  }
  int64_t scratch() const override { return scratch_.bytes(); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    const char* filters = static_cast<const char*>(io.w);
    if (!stored_) {
      char* split = static_cast<char*>(scratch_part(scratch, filters_at_));
      filters_.run(context, floats(io.w), split);
      filters = split;
    }
    const Work work{floats(to_x_ ? io.dy : io.x), filters, to_x_ ? nullptr : floats(io.bias),
                    floats(to_x_ ? io.dx : io.y)};
    in_teams(context, teams_, request_.shape.n * h_.places(),
             [&](Context* all, size_t team, int64_t begin, int64_t end) {
               run_rows(all, begin, end, work, chunk_of(scratch, team));
             });
  }

 private:
  struct Work {
    const float* from;
    const char* filters;
    const float* bias;
    float* to;
  };
  struct ChunkPlaces {
    int64_t split, targets;  ///< offsets in scratch
  };
  /// Rows of all images, split; and where each place's first 16 outputs go, -1 for none.
  struct Chunk {
    char* split;
    int64_t* targets;
  };

  Reach axis(const ConvAxis& a) const { return to_x_ ? Reach(a.out(), a.in, a, true) : Reach(a.in, a.out(), a, false); }
  int64_t pairs() const { return (from_blocks_ + 1) / 2; }
  int64_t layouts() const { return int64_t(h_.phases.size() * w_.phases.size()); }
  Chunk chunk_of(void* scratch, size_t team) const {
    return {static_cast<char*>(scratch_part(scratch, chunks_at_[team].split)),
            static_cast<int64_t*>(scratch_part(scratch, chunks_at_[team].targets))};
  }
  int64_t plane_at(int64_t pair, int64_t layout) const { return (pair * layouts() + layout) * kParts * plane_; }
  int64_t step(int64_t pair, int64_t r, int64_t t) const {
    return plane_at(pair, layout_of(h_, w_, r, t)) + place_of(h_, w_, r, t) * kRow;
  }

  void run_rows(Context* context, int64_t first, int64_t last, const Work& work, const Chunk& chunk) const {
    const int64_t all = request_.shape.n * h_.places();
    for (int64_t row = first; row < last; row += chunk_) {
      const int64_t rows = std::min(chunk_, last - row), read = std::min(rows + h_.span, all - row);
      over(context, read * pairs(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) split_places(work.from, row, i % read, i / read, chunk);
      });
      for (int64_t i = 0; i < rows; ++i) find_targets(row + i, chunk.targets + i * w_.places());
      const int64_t places = rows * w_.places();
      std::fill_n(chunk.targets + places, 2 * kRows, int64_t(-1));
      over(context, (to_blocks_ + 1) / 2, [&](int64_t begin, int64_t end) {
        const Tiles tiles;
        for (int64_t pair = begin; pair < end; ++pair) multiply_blocks(work, 2 * pair, places, chunk);
      });
    }
  }

  /// Row `row` + `i` of all images' rows, of one pair of blocks, in every layout.
  void split_places(const float* from, int64_t row, int64_t i, int64_t pair, const Chunk& chunk) const {
    const int64_t image = (row + i) / h_.places(), place = (row + i) % h_.places(), size = h_.in * w_.in * kLanes;
    const float* first = from + (image * from_blocks_ + 2 * pair) * size;
    const float* second = 2 * pair + 1 < from_blocks_ ? first + size : nullptr;
    for (size_t fy = 0; fy < h_.phases.size(); ++fy)
      for (size_t fx = 0; fx < w_.phases.size(); ++fx) {
        char* to = chunk.split + plane_at(pair, int64_t(fy * w_.phases.size() + fx)) + i * w_.places() * kRow;
        const int64_t y = h_.element(place, int64_t(fy)), x = w_.element(0, int64_t(fx));
        split_line(y >= 0 && y < h_.in ? first + y * w_.in * kLanes : nullptr,
                   second ? second + y * w_.in * kLanes : nullptr, x, to);
      }
  }

  /// Every stride-th element of a line from x on; zeros outside of it, and where there is no line.
  void split_line(const float* first, const float* second, int64_t x, char* to) const {
    for (int64_t place = 0; place < w_.places(); ++place, x += w_.stride, to += kRow) {
      const bool inside = first && x >= 0 && x < w_.in;
      split_row(inside ? _mm512_loadu_ps(first + x * kLanes) : _mm512_setzero_ps(),
                inside && second ? _mm512_loadu_ps(second + x * kLanes) : _mm512_setzero_ps(), to, plane_);
    }
  }

  void find_targets(int64_t row, int64_t* targets) const {
    const int64_t image = row / h_.places(), y = row % h_.places();
    for (int64_t x = 0; x < w_.places(); ++x)
      targets[x] = y < h_.out && x < w_.out ? ((image * to_blocks_ * h_.out + y) * w_.out + x) * kLanes : -1;
  }

  /// Sixteen or 32 outputs from `block` on at all places of a chunk.
  void multiply_blocks(const Work& work, int64_t block, int64_t places, const Chunk& chunk) const {
    const char* filters = work.filters + block * filters_.bytes_of_block();
    const bool two = block + 1 < to_blocks_;
    alignas(64) float sums[4 * 256];
    for (int64_t place = 0; place < places; place += 2 * kRows) {
      const Left a{chunk.split + place * kRow, steps_.data(), kRow, kTile, plane_};
      const int64_t* targets = chunk.targets + place;
      const bool far = places - place > kRows;
      multiply(far, two, a, {filters, filters_.bytes_of_block()}, filters_.steps(), sums);
      for (int across = 0; across < 1 + two; ++across)
        for (int down = 0; down < 1 + far; ++down)
          write(work, block + across, targets + down * kRows, sums + (2 * down + across) * 256);
    }
  }

  void write(const Work& work, int64_t block, const int64_t* targets, const float* sums) const {
    const int left = int(std::min<int64_t>(kLanes, (to_x_ ? request_.shape.c : request_.shape.k) - block * kLanes));
    const Lanes bias = work.bias ? load_some(work.bias + block * kLanes, left) : Lanes{};
    const Lanes ceiling = spread(request_.ceiling);
    float* to = work.to + block * h_.out * w_.out * kLanes;
    for (int64_t row = 0; row < kRows; ++row, sums += kLanes) {
      if (targets[row] < 0) continue;
      Lanes value = load(sums) + bias;
      if (request_.sum && !to_x_) value += load(to + targets[row]);
      if (request_.relu && !to_x_) value = smaller(larger(value, Lanes{}), ceiling);
      store(to + targets[row], value);
    }
  }

  ConvRequest request_;
  bool to_x_, stored_;
  int64_t from_blocks_, to_blocks_;
  Reach h_, w_;
  SplitFilters filters_;
  int64_t teams_ = 1;              ///< of threads with their own rows; one: all work together
  int64_t chunk_ = 1, plane_ = 0;  ///< rows at a time; bytes of one part of them
  std::vector<int64_t> steps_;     ///< where each begins, in bytes
  ScratchLayout scratch_;
  int64_t filters_at_ = 0;
  std::vector<ChunkPlaces> chunks_at_;  ///< one for each team
};

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  if (!amx::is_here()) return why = "this CPU has no AMX", nullptr;
  if (!takes(s.dtype, why)) return nullptr;
  if (s.spatial_axes != 2 || s.groups != 1) return why = "groups, or other than two axes", nullptr;
  if (s.x_layout != Layout::kBlocked16 || s.y_layout != Layout::kBlocked16) return why = "not in blocks", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  const bool stored = request.frozen && (!request.w_format || *request.w_format == split_format(s));
  if (request.w_format && !stored && !request.w_format->is_blocked16())
    return why = "the weights lie otherwise", nullptr;
  if (direction == ConvDirection::kForward) return std::make_unique<AmxConv>(request, false, stored, context.threads);
  if (direction == ConvDirection::kBackwardWeights) return make_amx_backward_weights(request, context.threads);
  if (s.h.stride != 1 || s.w.stride != 1) return why = "a stride", nullptr;
  return std::make_unique<AmxConv>(request, true, false, context.threads);
}

/// Six products of parts each, at two thirds of what the tiles do; what is split, and what is written.
double cost(const ConvRequest& request, ConvDirection) {
  const ConvShape& s = request.shape;
  const double c = double(blocks_of(s.c) * kLanes), k = double(blocks_of(s.k) * kLanes);
  const double padded = double(s.macs()) * c / double(s.c) * k / double(s.k);
  return padded / 1.5e11 + double(s.x().shape.count() + s.y().shape.count()) * 2e-10;
}

}  // namespace

std::vector<ConvCandidate> amx_conv_candidates() { return {{"amx", make, cost}}; }

#else

std::vector<ConvCandidate> amx_conv_candidates() { return {}; }

#endif

}  // namespace cortado::kernels
