// The gradient of convolution weights on AMX tiles (kernels/cpu/amx/amx.h, conv_reach.h). For each tap it is a matrix
// product of x (16 channels down, 32 positions across) and dy (32 positions down, 16 channels across). x is transposed
// while it is split; a tap is an offset into the same rows. Positions between images have zero dy and add nothing.
//
// If the sums are small, each piece of the positions has its own; otherwise threads divide the sums over all positions.

#include <algorithm>
#include <vector>

#include "kernels/cpu/amx/amx.h"
#include "kernels/cpu/amx/conv_amx.h"
#include "kernels/cpu/bias_sums.h"
#include "kernels/cpu/conv_reach.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/over.h"
#include "kernels/cpu/vec16f.h"
#include "kernels/cpu/winograd/winograd_tiles.h"
#include "kernels/scratch.h"

#ifdef CORTADO_WITH_AMX

namespace cortado::kernels {
namespace {

using namespace amx;

constexpr int64_t kChunkBytes = 1 << 20;  ///< of split positions per core
constexpr int64_t kFewPlaces = 64, kManyPlaces = 1024;
constexpr int64_t kSmallSums = 1 << 20;      ///< bytes of sums per piece
constexpr int64_t kChunksTogether = 4;       ///< times as many positions in a chunk of all threads
constexpr int64_t kBlock = kLanes * kLanes;  ///< weights of 16 c x 16 k

class AmxBackwardWeights final : public ConvKernel {
 public:
  AmxBackwardWeights(const ConvRequest& request, int pieces)
      : shape_(request.shape),
        y_(shape_.y()),
        c_blocks_(blocks_of(shape_.c)),
        k_blocks_(blocks_of(shape_.k)),
        h_(shape_.h.in, shape_.h.out(), shape_.h, false),
        w_(shape_.w.in, shape_.w.out(), shape_.w, false) {
    const int64_t rows = h_.outputs(shape_.n), place_bytes = (c_blocks_ * layouts() + k_blocks_) * kLanes * kParts * 2;
    const int64_t places = std::clamp(kChunkBytes / place_bytes, kFewPlaces, kManyPlaces);
    const int64_t wanted = std::max<int64_t>(1, places / w_.pitch);
    if (sums() * int64_t(sizeof(float)) > kSmallSums || rows < pieces) pieces = 1;
    chunk_ = std::min(wanted * (pieces == 1 ? kChunksTogether : 1), (rows + pieces - 1) / pieces);
    row_ = ((chunk_ + h_.span) * w_.pitch + w_.span + 2 * kDepth - 1) / kDepth * kDepth;
    for (int64_t step = 0; step * kDepth < chunk_ * w_.pitch; ++step) steps_.push_back(step * kRow);
    for (int piece = 0; piece < pieces; ++piece)
      parts_.push_back({scratch_.add(c_blocks_ * bytes_of_x()), scratch_.add(k_blocks_ * bytes_of_dy()),
                        scratch_.add(layouts() * row_ * int64_t(sizeof(int64_t))),
                        scratch_.add(int64_t(steps_.size()) * kDepth * int64_t(sizeof(int64_t))),
                        scratch_.add(sums() * int64_t(sizeof(float)))});
  }

  std::string name() const override { return "amx"; }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(shape_.weight(), 1); }
  int64_t scratch() const override { return scratch_.bytes(); }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    if (io.d.bias) sum_bias(context, y_, floats(io.dy), io.d.bias, io.d.add_bias);
    if (!io.d.w) return;
    const int64_t rows = h_.outputs(shape_.n), pieces = int64_t(parts_.size());
    if (pieces == 1)
      sum_rows(&context, 0, rows, io, part_of(scratch, 0));
    else
      in_pieces(context, pieces, [&](int64_t i, int) {
        sum_rows(nullptr, rows * i / pieces, rows * (i + 1) / pieces, io, part_of(scratch, size_t(i)));
      });
    write_gradient(context, io.d, scratch);
  }

 private:
  struct Offsets {
    int64_t x, dy, sources, targets, sums;  ///< in scratch
  };
  /// Offsets of one piece: both operands, split; the source of each position of x in each layout, and of dy,
  /// relative to its block, -1 for none; the sums.
  struct Part {
    char *x, *dy;
    int64_t *sources, *targets;
    float* sums;
  };

  int64_t layouts() const { return int64_t(h_.phases.size() * w_.phases.size()); }
  int64_t taps() const { return h_.taps * w_.taps; }
  int64_t sums() const { return k_blocks_ * c_blocks_ * taps() * kBlock; }
  int64_t apart() const { return kLanes * row_ * 2; }
  int64_t bytes_of_x() const { return layouts() * kParts * apart(); }
  int64_t bytes_of_dy() const { return int64_t(steps_.size()) * kParts * kTile; }
  Part part_of(void* scratch, size_t piece) const {
    const Offsets& at = parts_[piece];
    return {static_cast<char*>(scratch_part(scratch, at.x)), static_cast<char*>(scratch_part(scratch, at.dy)),
            static_cast<int64_t*>(scratch_part(scratch, at.sources)),
            static_cast<int64_t*>(scratch_part(scratch, at.targets)), floats(scratch_part(scratch, at.sums))};
  }

  void sum_rows(Context* context, int64_t first, int64_t last, const ConvOperands& io, const Part& part) const {
    for (int64_t row = first; row < last; row += chunk_) {
      const int64_t rows = std::min(chunk_, last - row), steps = (rows * w_.pitch + kDepth - 1) / kDepth;
      find_sources(row, rows, part.sources);
      find_targets(row, rows, part.targets);
      over(context, c_blocks_ * layouts(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) split_x(floats(io.x), i / layouts(), i % layouts(), part);
      });
      over(context, k_blocks_, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) split_dy(floats(io.dy), block, steps, part);
      });
      const int64_t c_pairs = (c_blocks_ + 1) / 2, k_pairs = (k_blocks_ + 1) / 2;
      over(context, c_pairs * k_pairs, [&](int64_t begin, int64_t end) {
        const Tiles tiles;
        for (int64_t i = begin; i < end; ++i)
          for (int64_t tap = 0; tap < taps(); ++tap)
            add_products(2 * (i / k_pairs), 2 * (i % k_pairs), tap, steps, row == first, part);
      });
    }
  }

  void find_sources(int64_t row, int64_t rows, int64_t* sources) const {
    const int64_t read = std::min(rows + h_.span, shape_.n * h_.pitch - row);
    std::fill_n(sources, layouts() * row_, int64_t(-1));
    for (size_t fy = 0; fy < h_.phases.size(); ++fy)
      for (size_t fx = 0; fx < w_.phases.size(); ++fx, sources += row_)
        for (int64_t i = 0; i < read; ++i) {
          const int64_t image = (row + i) / h_.pitch, y = h_.element((row + i) % h_.pitch, int64_t(fy));
          if (y < 0 || y >= h_.in) continue;
          for (int64_t place = 0; place < w_.pitch; ++place) {
            const int64_t x = w_.element(place, int64_t(fx));
            if (x >= 0 && x < w_.in)
              sources[i * w_.pitch + place] = ((image * c_blocks_ * h_.in + y) * w_.in + x) * kLanes;
          }
        }
  }

  void find_targets(int64_t row, int64_t rows, int64_t* targets) const {
    std::fill_n(targets, int64_t(steps_.size()) * kDepth, int64_t(-1));
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t image = (row + i) / h_.pitch, y = (row + i) % h_.pitch;
      for (int64_t x = 0; y < h_.out && x < w_.out; ++x)
        targets[i * w_.pitch + x] = ((image * k_blocks_ * h_.out + y) * w_.out + x) * kLanes;
    }
  }

  static __m512 at(const float* data, int64_t offset) {
    return offset < 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(data + offset);
  }

  /// Splits one block of channels in one layout: a row per channel.
  void split_x(const float* x, int64_t block, int64_t layout, const Part& part) const {
    const float* from = x + block * h_.in * w_.in * kLanes;
    const int64_t* sources = part.sources + layout * row_;
    char* to = part.x + block * bytes_of_x() + layout * kParts * apart();
    for (int64_t place = 0; place < row_; place += kDepth, to += kRow) {
      __m512 first[kLanes], second[kLanes];
      for (int i = 0; i < kLanes; ++i)
        first[i] = at(from, sources[place + i]), second[i] = at(from, sources[place + kLanes + i]);
      transpose(first);
      transpose(second);
      for (int c = 0; c < kLanes; ++c) split_row(first[c], second[c], to + c * row_ * 2, apart());
    }
  }

  void split_dy(const float* dy, int64_t block, int64_t steps, const Part& part) const {
    const float* from = dy + block * h_.out * w_.out * kLanes;
    char* to = part.dy + block * bytes_of_dy();
    for (int64_t step = 0; step < steps; ++step, to += kParts * kTile)
      for (int row = 0; row < kRows; ++row) {
        const int64_t* targets = part.targets + step * kDepth + 2 * row;
        split_pair(at(from, targets[0]), at(from, targets[1]), to + row * kRow, kTile);
      }
  }

  /// Adds up to 2 x 2 blocks of the gradient of one tap, for two blocks of channels.
  void add_products(int64_t c_block, int64_t k_block, int64_t tap, int64_t steps, bool first, const Part& part) const {
    const int64_t r = tap / w_.taps, t = tap % w_.taps;
    const char* x =
        part.x + c_block * bytes_of_x() + layout_of(h_, w_, r, t) * kParts * apart() + place_of(h_, w_, r, t) * 2;
    const bool two_c = c_block + 1 < c_blocks_, two_k = k_block + 1 < k_blocks_;
    alignas(64) float products[4 * kBlock];
    multiply(two_c, two_k, {x, steps_.data(), apart(), row_ * 2, bytes_of_x()},
             {part.dy + k_block * bytes_of_dy(), bytes_of_dy()}, steps, products);
    for (int64_t c = 0; c < 1 + two_c; ++c)
      for (int64_t k = 0; k < 1 + two_k; ++k) {
        float* to = part.sums + (((k_block + k) * c_blocks_ + c_block + c) * taps() + tap) * kBlock;
        const float* from = products + (2 * c + k) * kBlock;
        for (int64_t i = 0; i < kBlock; i += kLanes)
          store(to + i, first ? load(from + i) : load(to + i) + load(from + i));
      }
  }

  void write_gradient(Context& context, const WeightGradients& d, void* scratch) const {
    parallel_ranges(context, sums() / kLanes, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * kLanes; i < end * kLanes; i += kLanes) {
        Vec16f sum = d.add_w ? load(d.w + i) : Vec16f{};
        for (size_t thread_group = 0; thread_group < parts_.size(); ++thread_group)
          sum += load(part_of(scratch, thread_group).sums + i);
        store(d.w + i, sum);
      }
    });
  }

  ConvShape shape_;
  TensorSpec y_;
  int64_t c_blocks_, k_blocks_;
  Reach h_, w_;
  int64_t chunk_ = 1, row_ = 0;  ///< image rows per chunk; positions of x in a row, a multiple of kDepth
  std::vector<int64_t> steps_;   ///< start of each step in such a row, in bytes
  ScratchLayout scratch_;
  std::vector<Offsets> parts_;  ///< one per piece; if there is one, all threads work on it
};

}  // namespace

std::unique_ptr<ConvKernel> make_amx_backward_weights(const ConvRequest& request, int pieces) {
  return std::make_unique<AmxBackwardWeights>(request, pieces);
}

}  // namespace cortado::kernels

#endif
