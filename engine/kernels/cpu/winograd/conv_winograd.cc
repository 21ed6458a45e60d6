// Convolution of blocked tensors with stride 1 by Winograd's algorithm (kernels/cpu/winograd/winograd.h). Tiles of m x
// m outputs are transformed to (m + r - 1)^2 frequencies, where the sum over channels is a matrix product per
// frequency. F(4, 3) needs a quarter of the multiplications of a 3x3 filter; F(2, 5) and F(4, 5) need a third and a
// sixth of a 5x5 filter's. bfloat16 values use F(2, 3) with bfloat16 products, whose spectra lose no more than rounding
// to bfloat16: 0.3 % of a result, where F(4, 3) would lose 0.9 % and rounding the result itself loses 0.2 %.
//
// Forward processes the tiles in chunks. If the spectrum of the weights is small, a chunk is a piece of work, and its
// spectra stay in a core's cache. Otherwise all threads work on one large chunk and divide the frequencies, so that
// each weight is read once. backward_data is forward from dy to dx with flipped filters. backward_weights sums products
// of spectra over tiles: if the sums are small, each piece has its own, else threads divide the frequencies.

#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/conv.h"
#include "kernels/cpu/bias_sums.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/over.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_filters.h"
#include "kernels/cpu/winograd/winograd_tiles.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

constexpr int64_t kCacheBytes = 1 << 20;     ///< per core, for a chunk's data
constexpr int64_t kSharedBytes = 32 << 20;   ///< for spectra shared by all threads
constexpr int64_t kLargeWeights = 12 << 20;  ///< larger spectra are read only once
constexpr int64_t kTilesOfSums = 64;         ///< of fewer tiles, separate sums cost more than they gain

/// One side of the convolution: the channels of a blocked tensor per group.
struct Side {
  int64_t channels;  ///< per group
  int64_t all_blocks, height, width;

  int64_t blocks() const { return blocks_of(channels); }
  template <typename Float>
  Plane<Float> plane(Float* data, int64_t image, int64_t block, int part) const {
    return {data + (image * all_blocks + block) * height * width * kLanes + part * kWidth, height, width};
  }
};

/// The grid of tiles of kOutputs x kOutputs positions that cover all images.
template <int kOutputs>
struct Grid {
  int64_t down, across, tiles;

  Grid(int64_t images, int64_t height, int64_t width)
      : down((height + kOutputs - 1) / kOutputs),
        across((width + kOutputs - 1) / kOutputs),
        tiles(images * down * across) {}
  int64_t image(int64_t tile) const { return tile / (down * across); }
  int64_t h(int64_t tile) const { return tile / across % down * kOutputs; }
  int64_t w(int64_t tile) const { return tile % across * kOutputs; }
};

/// Chunks of nearly equal size and at most `most` tiles.
struct Chunks {
  int64_t tiles, most;

  int64_t count() const { return (tiles + most - 1) / most; }
  int64_t begin(int64_t chunk) const { return tiles * chunk / count(); }
};

/// The base of forward and the gradients.
template <int kOutputs, int kTaps, typename T>
class WinogradConv : public ConvKernel {
 public:
  using Transform = Winograd<kOutputs, kTaps>;
  static constexpr int kSize = Transform::kSize, kFrequencies = kSize * kSize, kPlaces = kTaps * kTaps;
  using Kept = Form<T, kSize>;
  using Terms = typename Kept::Terms;
  using Word = typename Terms::Word;
  using Left = typename Kept::Left;
  using Pairs = typename Kept::Pairs;
  using Spectra = Spectrum<kSize>;  ///< of accumulators

  explicit WinogradConv(const ConvRequest& request)
      : shape_(request.shape),
        x_{shape_.c / shape_.groups, blocks_of(shape_.c), shape_.h.in, shape_.w.in},
        y_{shape_.k / shape_.groups, blocks_of(shape_.k), shape_.h.out(), shape_.w.out()} {}

  std::string name() const override {
    const std::string type = std::is_same_v<T, float> ? "" : " of bf16";
    return "winograd F(" + std::to_string(kOutputs) + "," + std::to_string(kTaps) + ")" + type;
  }
  WeightFormat weight_format() const override { return WeightFormat::blocked16(shape_.weight(), shape_.groups); }
  int64_t scratch() const override { return layout_.bytes(); }

 protected:
  /// The offset of a block of 16 c x 16 k of each tap in the weights.
  int64_t weight_block(int64_t group, int64_t k_block, int64_t c_block) const {
    return ((group * y_.blocks() + k_block) * x_.blocks() + c_block) * kPlaces * kLanes * kLanes;
  }
  static const T* values(const void* operand) { return static_cast<const T*>(operand); }
  static T* values(void* operand) { return static_cast<T*>(operand); }
  template <typename Element = Word>
  static Element* part(void* scratch, int64_t offset) {
    return static_cast<Element*>(scratch_part(scratch, offset));
  }
  /// The number of words for n rows or columns.
  static int64_t words(int64_t n) { return ceil_of(n, Kept::kTogether); }

  /// Computes rows [from, to) of a block of `spectrum` from the inputs of these tiles; row 0 is tile `begin`.
  static void transform_tiles(const Side& side, const T* data, int64_t group, int64_t block, const Grid<kOutputs>& grid,
                              int64_t pad_h, int64_t pad_w, int64_t begin, int64_t from, int64_t to,
                              const Left& spectrum) {
    for (int64_t row = from; row < to; ++row)
      for (int part = 0; part < kRegisters; ++part) {
        RegisterVec frequencies[kSize][kSize];
        transform_tile(side, data, group * side.blocks() + block, grid, begin + row, pad_h, pad_w, part, frequencies);
        spectrum.store_at(row, block, part, frequencies);
      }
  }

  static void transform_tile(const Side& side, const T* data, int64_t block, const Grid<kOutputs>& grid, int64_t tile,
                             int64_t pad_h, int64_t pad_w, int part, RegisterVec (&frequencies)[kSize][kSize]) {
    RegisterVec x[kSize][kSize];
    load_tile(side.plane(data, grid.image(tile), block, part), grid.h(tile) - pad_h, grid.w(tile) - pad_w, x);
    Transform::transform_input(x, frequencies);
  }

  ConvShape shape_;
  Side x_, y_;
  ScratchLayout layout_;
};

/// Computes tiles of `to` from tiles of `from`: forward, and backward_data with swapped sides.
template <int kOutputs, int kTaps, typename T>
class WinogradForward : public WinogradConv<kOutputs, kTaps, T> {
  using Base = WinogradConv<kOutputs, kTaps, T>;
  using Base::kFrequencies, Base::kSize, Base::layout_, Base::shape_, Base::values, Base::words, Base::x_, Base::y_;
  using typename Base::Left;
  using typename Base::Pairs;
  using typename Base::Spectra;
  using typename Base::Terms;
  using typename Base::Transform;
  using typename Base::Word;

 public:
  /// `stored`: the weights are in spectrum_format().
  WinogradForward(const ConvRequest& request, bool to_x, bool stored, const Context& context)
      : Base(request),
        stored_(stored),
        to_x_(to_x),
        sum_(request.post.sum && !to_x),
        activation_(to_x ? Activation() : request.post.activation),
        from_(to_x ? y_ : x_),
        to_(to_x ? x_ : y_),
        pad_h_(to_x ? kTaps - 1 - shape_.h.pad : shape_.h.pad),
        pad_w_(to_x ? kTaps - 1 - shape_.w.pad : shape_.w.pad),
        grid_(shape_.n, to_.height, to_.width),
        filters_(shape_.groups, from_.blocks(), to_.blocks(), to_x) {
    const int64_t row = kFrequencies * (from_.blocks() + to_.blocks()) * kLanes * int64_t(sizeof(float));
    const int64_t weights = filters_.group_bytes();
    // Weights that do not fit in the cache with the chunk are read again for each chunk, so there should be few.
    const int64_t least = (weights > kCacheBytes ? 8 : 2) * kTileRows;
    const int64_t many = std::min<int64_t>(context.pieces, grid_.tiles / least);
    const int64_t few = std::min<int64_t>(context.pieces / 4, grid_.tiles / kTileRows);
    const int64_t pieces = even_pieces(double(std::max(many, few)));
    shared_ = weights > kLargeWeights || pieces < 2;
    const int64_t rows = shared_ ? kSharedBytes / row : std::max<int64_t>(kCacheBytes / row, least);
    chunk_ = std::clamp<int64_t>(rows, 1, shared_ ? grid_.tiles : (grid_.tiles + pieces - 1) / pieces);
    if (const int64_t count = Chunks{grid_.tiles, chunk_}.count(); !shared_ && count % 2 == 1)
      chunk_ = (grid_.tiles + count) / (count + 1);  // an even number of chunks
    if (!stored_) weights_ = layout_.add(filters_.bytes());
    for (int worker = 0; worker < (shared_ ? 1 : context.threads); ++worker)
      spectra_.push_back(
          {layout_.add(Left::bytes(chunk_, from_.blocks())), layout_.add(Spectra::bytes(chunk_, to_.blocks()))});
  }

  WeightFormat weight_format() const override {
    if (!stored_) return Base::weight_format();
    return spectrum_format<kOutputs, kTaps>(shape_);
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    if (!stored_) filters_.run(context, floats(io.w), scratch_part(scratch, weights_));
    const Chunks chunks{grid_.tiles, chunk_};
    if (shared_)
      for (int64_t i = 0; i < chunks.count(); ++i)
        run_tiles(&context, chunks.begin(i), chunks.begin(i + 1), io, spectra_[0], scratch);
    else
      in_pieces(context, chunks.count(), [&](int64_t i, int worker) {
        run_tiles(nullptr, chunks.begin(i), chunks.begin(i + 1), io, spectra_[size_t(worker)], scratch);
      });
  }

 private:
  struct Pair {
    int64_t from, to;
  };

  void run_tiles(Context* context, int64_t begin, int64_t end, const ConvOperands& io, const Pair& spectra,
                 void* scratch) {
    const Left in{Base::part(scratch, spectra.from), end - begin, from_.blocks()};
    const Spectra out{Base::template part<float>(scratch, spectra.to), end - begin, to_.blocks()};
    for (int64_t group = 0; group < shape_.groups; ++group) {
      const Pairs w = filters_.spectrum(
          stored_ ? static_cast<Word*>(const_cast<void*>(io.w)) : Base::part(scratch, weights_), group);
      over(context, end - begin, [&](int64_t from, int64_t to) {
        for (int64_t block = 0; block < from_.blocks(); ++block)
          Base::transform_tiles(from_, values(to_x_ ? io.dy : io.x), group, block, grid_, pad_h_, pad_w_, begin, from,
                                to, in);
      });
      over(context, kFrequencies, [&](int64_t from, int64_t to) {
        for (int f = int(from); f < to; ++f)
          multiply<Terms>(in.operand(f), w.operand(f), out.matrix(f), words(from_.channels), to_.channels);
      });
      over(context, end - begin, [&](int64_t from, int64_t to) {
        for (int64_t block = 0; block < to_.blocks(); ++block)
          activation_.gates() ? write_block<true>(group, block, begin, from, to, out, io)
                              : write_block<false>(group, block, begin, from, to, out, io);
      });
    }
  }

  template <bool gates>
  void write_block(int64_t group, int64_t block, int64_t begin, int64_t from, int64_t to, const Spectra& out,
                   const ConvOperands& io) const {
    const int64_t at = group * to_.blocks() + block, channel = at * kLanes;
    const int left = int(std::min<int64_t>(kLanes, (to_x_ ? shape_.c : shape_.k) - channel));
    const Lanes bias = lanes_of(io.bias && !to_x_ ? load_some(floats(io.bias) + channel, left) : Vec16f{});
    for (int64_t row = from; row < to; ++row)
      for (int part = 0; part < kRegisters; ++part)
        write_tile<gates>(begin, row, at, block, part, load<RegisterVec>(bias.of + part * kWidth), out, io);
  }

  template <bool gates>
  void write_tile(int64_t begin, int64_t row, int64_t at, int64_t block, int part, const RegisterVec& bias,
                  const Spectra& out, const ConvOperands& io) const {
    const int64_t tile = begin + row;
    const RegisterVec ceiling = spread<RegisterVec>(activation_.ceiling);
    RegisterVec frequencies[kSize][kSize], y[kOutputs][kOutputs];
    out.load_at(row, block, part, frequencies);
    Transform::contract_output(frequencies, y);
    const Plane<T> plane = to_.plane(values(to_x_ ? io.dx : io.y), grid_.image(tile), at, part);
    if (sum_) add_tile(plane, grid_.h(tile), grid_.w(tile), y);
#pragma GCC unroll 8
    for (auto& line : y)
#pragma GCC unroll 8
      for (RegisterVec& value : line)
        value =
            gates ? gated(activation_.kind, ceiling, value + bias) : activated(activation_.kind, ceiling, value + bias);
    store_tile(plane, grid_.h(tile), grid_.w(tile), y);
  }

  bool stored_, to_x_, sum_;
  Activation activation_;
  Side from_, to_;
  int64_t pad_h_, pad_w_;
  Grid<kOutputs> grid_;
  bool shared_;        ///< whether all threads work on one chunk
  int64_t chunk_ = 0;  ///< tiles per chunk
  FilterTransform<kOutputs, kTaps, T> filters_;
  int64_t weights_ = 0;        ///< offset of their spectrum in scratch
  std::vector<Pair> spectra_;  ///< offsets, for each worker
};

template <int kOutputs, int kTaps, typename T>
class WinogradBackwardWeights : public WinogradConv<kOutputs, kTaps, T> {
  using Base = WinogradConv<kOutputs, kTaps, T>;
  using Base::kFrequencies, Base::kPlaces, Base::kSize, Base::layout_, Base::shape_, Base::values, Base::words,
      Base::x_, Base::y_;
  using typename Base::Kept;
  using typename Base::Pairs;
  using typename Base::Spectra;
  using typename Base::Terms;
  using typename Base::Transform;

 public:
  WinogradBackwardWeights(const ConvRequest& request, const Context& context)
      : Base(request), spec_(shape_.y()), grid_(shape_.n, y_.height, y_.width), rows_(x_.blocks() * kLanes) {
    const int64_t sum = Spectra::bytes(rows_, y_.blocks());
    const int64_t row = kFrequencies * (x_.blocks() + y_.blocks()) * kLanes * int64_t(sizeof(float));
    const bool apart = sum <= kCacheBytes && grid_.tiles >= 2 * kTilesOfSums;
    const int64_t pieces =
        apart ? even_pieces(std::min(double(context.pieces), double(grid_.tiles) / kTilesOfSums)) : 1;
    const int64_t most = apart ? std::max<int64_t>(32, kCacheBytes / row) : kSharedBytes / row;
    chunk_ = std::clamp<int64_t>(most, 1, (grid_.tiles + pieces - 1) / pieces);
    for (int64_t i = 0; i < pieces; ++i) sums_.push_back(layout_.add(sum));
    for (int worker = 0; worker < (apart ? context.threads : 1); ++worker)
      spectra_.push_back({layout_.add(Pairs::bytes(words(chunk_), x_.blocks())),
                          layout_.add(Pairs::bytes(words(chunk_), y_.blocks()))});
  }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    if (io.d.bias) sum_bias(context, spec_, values(io.dy), io.d.bias, io.d.add_bias);
    if (!io.d.w) return;
    for (int64_t group = 0; group < shape_.groups; ++group) {
      const int64_t pieces = int64_t(sums_.size());
      if (pieces == 1)
        sum_tiles(&context, group, 0, grid_.tiles, io, sum(0, scratch), spectra_[0], scratch);
      else
        in_pieces(context, pieces, [&](int64_t i, int worker) {
          sum_tiles(nullptr, group, grid_.tiles * i / pieces, grid_.tiles * (i + 1) / pieces, io,
                    sum(size_t(i), scratch), spectra_[size_t(worker)], scratch);
        });
      write_gradient(context, group, io.d, scratch);
    }
  }

 private:
  struct Operands {
    int64_t x, y;  ///< offsets of spectra in scratch
  };

  Spectra sum(size_t piece, void* scratch) const {
    return {Base::template part<float>(scratch, sums_[piece]), rows_, y_.blocks()};
  }

  void sum_tiles(Context* context, int64_t group, int64_t first, int64_t last, const ConvOperands& io,
                 const Spectra& sum, const Operands& spectra, void* scratch) {
    const Chunks chunks{last - first, chunk_};
    for (int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
      const int64_t begin = first + chunks.begin(chunk), end = first + chunks.begin(chunk + 1);
      const int64_t rows = words(end - begin);
      const Pairs x{Base::part(scratch, spectra.x), rows, x_.blocks()},
          dy{Base::part(scratch, spectra.y), rows, y_.blocks()};
      over(context, rows, [&](int64_t from, int64_t to) {
        for (int64_t block = 0; block < x_.blocks(); ++block)
          in_pairs(block, begin, end, from, to, x, [&](int64_t tile, int part, auto& frequencies) {
            Base::transform_tile(x_, values(io.x), group * x_.blocks() + block, grid_, tile, shape_.h.pad, shape_.w.pad,
                                 part, frequencies);
          });
        for (int64_t block = 0; block < y_.blocks(); ++block)
          in_pairs(block, begin, end, from, to, dy, [&](int64_t tile, int part, auto& frequencies) {
            transform_dy(group * y_.blocks() + block, tile, part, values(io.dy), frequencies);
          });
      });
      over(context, kFrequencies, [&](int64_t from, int64_t to) {
        for (int f = int(from); f < to; ++f)
          multiply_transposed<Terms>(x.operand(f), dy.operand(f), sum.matrix(f), rows, y_.channels, chunk > 0);
      });
    }
  }

  /// Computes rows [from, to) of a block of `spectrum` for the tiles from `begin` on, with transform(tile, part,
  /// frequencies); zeros from `end` on.
  template <typename TransformTile>
  static void in_pairs(int64_t block, int64_t begin, int64_t end, int64_t from, int64_t to, const Pairs& spectrum,
                       const TransformTile& transform) {
    for (int64_t row = from; row < to; ++row)
      for (int part = 0; part < kRegisters; ++part) {
        RegisterVec tiles[Kept::kTogether][kSize][kSize];
        for (int i = 0; i < Kept::kTogether; ++i) {
          const int64_t tile = begin + row * Kept::kTogether + i;
          if (Kept::kTogether == 1 || tile < end)
            transform(tile, part, tiles[i]);
          else
            std::fill_n(&tiles[i][0][0], kFrequencies, RegisterVec{});
        }
        Kept::store(spectrum, row, block, part, tiles);
      }
  }

  void transform_dy(int64_t block, int64_t tile, int part, const T* data,
                    RegisterVec (&frequencies)[kSize][kSize]) const {
    RegisterVec dy[kOutputs][kOutputs];
    load_tile(y_.plane(data, grid_.image(tile), block, part), grid_.h(tile), grid_.w(tile), dy);
    Transform::expand_output(dy, frequencies);
  }

  void write_gradient(Context& context, int64_t group, const WeightGradients& d, void* scratch) {
    const int64_t blocks = x_.blocks() * y_.blocks();
    parallel_ranges(context, blocks * kLanes, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int part = 0; part < kRegisters; ++part) write_filters(group, i, part, d, scratch);
    });
  }

  /// Writes the filters of one input channel, counted over all pairs of blocks.
  void write_filters(int64_t group, int64_t i, int part, const WeightGradients& d, void* scratch) {
    const int64_t c = i % kLanes, c_block = i / kLanes % x_.blocks(), k_block = i / kLanes / x_.blocks();
    RegisterVec total[kSize][kSize], dw[kTaps][kTaps];
    sum(0, scratch).load_at(c_block * kLanes + c, k_block, part, total);
    for (size_t piece = 1; piece < sums_.size(); ++piece) {
      RegisterVec more[kSize][kSize];
      sum(piece, scratch).load_at(c_block * kLanes + c, k_block, part, more);
      for (int f = 0; f < kFrequencies; ++f) total[f / kSize][f % kSize] += more[f / kSize][f % kSize];
    }
    Transform::contract_weights(total, dw);
    float* to = d.w + this->weight_block(group, k_block, c_block) + c * kLanes + part * kWidth;
    for (int tap = 0; tap < kPlaces; ++tap, to += kLanes * kLanes) {
      const RegisterVec gradient = dw[tap / kTaps][tap % kTaps];
      store(to, d.add_w ? load<RegisterVec>(to) + gradient : gradient);
    }
  }

  TensorSpec spec_;  ///< of y
  Grid<kOutputs> grid_;
  int64_t rows_;  ///< channels of x, rounded up
  int64_t chunk_ = 0;
  std::vector<int64_t> sums_;      ///< offsets of spectra, for each piece
  std::vector<Operands> spectra_;  ///< for each worker
};

bool suits(const ConvAxis& axis, int taps) {
  return axis.kernel == taps && axis.stride == 1 && axis.dilation == 1 && axis.pad < taps;
}

template <int kOutputs, int kTaps, typename T>
std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context& context,
                                 std::string& why) {
  const ConvShape& s = request.shape;
  constexpr bool kFloats = std::is_same_v<T, float>;
  if (kFloats ? !takes(s.dtype, why) : !takes_bfloat16(s.dtype, why)) return nullptr;
  if (s.spatial_axes != 2 || !suits(s.h, kTaps) || !suits(s.w, kTaps))
    return why = "unsupported filter size, stride or dilation", nullptr;
  if (s.x_layout != Layout::kBlocked16 || s.y_layout != Layout::kBlocked16) return why = "not in blocks", nullptr;
  if (s.groups > 1 && (s.c / s.groups % kLanes || s.k / s.groups % kLanes))
    return why = "groups do not fill blocks", nullptr;
  if (s.x().shape.count() == 0) return why = "no elements", nullptr;
  const bool stored =
      kFloats && request.frozen && (!request.w_format || *request.w_format == spectrum_format<kOutputs, kTaps>(s));
  if (request.w_format && !stored && !request.w_format->is_blocked16())
    return why = "unsupported weight format", nullptr;
  switch (direction) {
    case ConvDirection::kForward:
      return std::make_unique<WinogradForward<kOutputs, kTaps, T>>(request, false, stored, context);
    case ConvDirection::kBackwardData:
      return std::make_unique<WinogradForward<kOutputs, kTaps, T>>(request, true, false, context);
    case ConvDirection::kBackwardWeights:
      return std::make_unique<WinogradBackwardWeights<kOutputs, kTaps, T>>(request, context);
  }
  return nullptr;
}

/// Seconds per core: per product, and per transform of one element of a tensor or of the weights.
struct Rates {
  double product, transform, weights;
};

/// Measured from 16 to 512 channels. With AVX-512 transforms of 8 x 8 cost more if the weights' spectrum fills the
/// cache, and weights cost more if it is read from memory. With AVX2 8 x 8 transforms always cost more, because 64
/// positions do not fit in registers. bfloat16 values are multiplied at twice the rate.
Rates rates_of(CpuLevel level, ConvDirection direction, int size, double spectrum_bytes, bool halves) {
  if (halves) return {2 / 3.4e11, 2e-10, 4e-10};
  const bool to_w = direction == ConvDirection::kBackwardWeights;
  if (level != CpuLevel::kAvx512) return {2 / (to_w ? 6e10 : 6.2e10), size == 6 ? 5.5e-10 : 6.5e-10, 7e-10};
  const bool small = size == 6 || spectrum_bytes < double(kCacheBytes);
  return {2 / 1.8e11, small ? 2e-10 : to_w ? 3.5e-10 : 4.5e-10, spectrum_bytes > kLargeWeights ? 4.5e-10 : 2e-10};
}

template <int kOutputs, int kTaps, typename T>
double cost(const ConvRequest& request, ConvDirection direction, CpuLevel level) {
  const ConvShape& s = request.shape;
  const bool to_x = direction == ConvDirection::kBackwardData;
  const Grid<kOutputs> grid(s.n, to_x ? s.h.in : s.h.out(), to_x ? s.w.in : s.w.out());
  constexpr int kSize = kOutputs + kTaps - 1;
  const double frequencies = kSize * kSize;
  const double c = double(blocks_of(s.c)) * kLanes, k = double(blocks_of(s.k)) * kLanes, groups = double(s.groups);
  const Rates rates = rates_of(level, direction, kSize, frequencies * c * k / groups / groups * sizeof(float),
                               !std::is_same_v<T, float>);
  return frequencies * (double(grid.tiles) * (c * k / groups * rates.product + (c + k) * rates.transform) +
                        c * k / groups * rates.weights);
}

template <int kOutputs, int kTaps, typename T = float>
ConvCandidate candidate() {
  const std::string type = std::is_same_v<T, float> ? "" : "-bf16";
  return {"winograd" + std::to_string(kOutputs) + "x" + std::to_string(kTaps) + type, make<kOutputs, kTaps, T>,
          cost<kOutputs, kTaps, T>, &CpuLevels::own, ConvAlgorithm::kWinograd};
}

}  // namespace

std::vector<ConvCandidate> winograd_conv_candidates() {
  return {candidate<4, 3>(), candidate<6, 3>(), candidate<2, 5>(), candidate<4, 5>()};
}

std::vector<ConvCandidate> half_winograd_conv_candidates() {
#ifdef __AVX512BF16__
  if (multiplies_bfloat16()) return {candidate<2, 3, BFloat16>()};
#endif
  return {};
}

}  // namespace cortado::kernels
