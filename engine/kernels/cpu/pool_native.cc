// Our own pooling, plain (one value per position) and blocked (16 channels per position), of 32-bit floats or bfloat16.
// If windows overlap, the gradients of a bfloat16 plane are summed in floats.
//
// The position of the maximum within its window is saved in 8 bits if the window has at most 256 positions. A window
// entirely outside the image (strides beyond the kernel, outputs rounded up) yields 0; Caffe yields -FLT_MAX.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/loops/exceeds.h"
#include "core/threads/threads.h"
#include "kernels/cpu/bfloat16.h"
#include "kernels/cpu/floats.h"
#include "kernels/pool.h"

namespace cortado::kernels {
namespace {

/// One axis of a window: its range in the image, and its extent in an average's divisor.
struct Side {
  int64_t begin, end, origin, divisor;
};

Side side_of(int64_t out, int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool count_padding) {
  const int64_t start = out * stride - pad, stop = std::min(start + kernel, in + pad);
  const int64_t begin = std::max<int64_t>(0, start), end = std::max(begin, std::min(stop, in));
  return {begin, end, start, count_padding ? std::max<int64_t>(1, stop - start) : std::max<int64_t>(1, end - begin)};
}

/// Whether the windows tile one axis without overlap or gap.
bool tile(const std::vector<Side>& sides, int64_t in) {
  int64_t next = 0;
  for (const Side& side : sides) {
    if (side.begin != next) return false;
    next = side.end;
  }
  return next == in;
}

/// Values of one position: 16 channels of a block, or a single one. NaN wins over any number, so that a maximum does
/// not hide divergence.
template <int width>
struct Place;

template <>
struct Place<kLanes> {
  using Value = Vec16f;
  using Index = Vec16i;
  template <typename T>
  static Value get(const T* p) {
    return load(p);
  }
  template <typename T>
  static void put(T* p, const Value& v) {
    store(p, v);
  }
  static Index all(int32_t i) { return spread_integer(i); }
  static auto wins(const Value& a, const Value& b) { return (a > b) | (a != a); }
  template <typename Mask, typename V>
  static V chosen(const Mask& first, const V& a, const V& b) {
    return select(first, a, b);
  }
  template <typename Stored>
  static void put_index(Stored* p, const Index& index) {
    int32_t wide[kLanes];
    std::memcpy(wide, &index, sizeof wide);
    for (int i = 0; i < kLanes; ++i) p[i] = Stored(wide[i]);
  }
  template <typename Stored>
  static Index get_index(const Stored* p) {
    int32_t wide[kLanes];
    for (int i = 0; i < kLanes; ++i) wide[i] = p[i];
    Index index;
    std::memcpy(&index, wide, sizeof index);
    return index;
  }
};

template <>
struct Place<1> {
  using Value = float;
  using Index = int32_t;
  template <typename T>
  static Value get(const T* p) {
    return *p;
  }
  template <typename T>
  static void put(T* p, Value v) {
    *p = v;
  }
  static Index all(int32_t i) { return i; }
  static bool wins(Value a, Value b) { return exceeds(a, b); }
  template <typename V>
  static V chosen(bool first, V a, V b) {
    return first ? a : b;
  }
  template <typename Stored>
  static void put_index(Stored* p, Index index) {
    *p = Stored(index);
  }
  template <typename Stored>
  static Index get_index(const Stored* p) {
    return Index(*p);
  }
};

/// For values stored as T: float or BFloat16.
template <typename T>
class Own final : public Pool {
 public:
  Own(const PoolRequest& request, int pieces)
      : r_(request),
        parts_(pieces),
        width_(request.x.layout == Layout::kBlocked16 ? kLanes : 1),
        h_(request.x.shape[2]),
        w_(request.x.shape[3]),
        out_h_(request.y.shape[2]),
        out_w_(request.y.shape[3]),
        planes_(h_ * w_ == 0 ? 0 : request.x.elements() / (h_ * w_ * width_)),
        small_(request.kernel_h * request.kernel_w <= 256) {
    for (int64_t i = 0; i < out_h_; ++i)
      rows_.push_back(side_of(i, h_, r_.kernel_h, r_.stride_h, r_.pad_h, r_.count_padding));
    for (int64_t i = 0; i < out_w_; ++i)
      columns_.push_back(side_of(i, w_, r_.kernel_w, r_.stride_w, r_.pad_w, r_.count_padding));
    tiled_ = width_ == kLanes && tile(rows_, h_) && tile(columns_, w_);
  }

  std::string name() const override { return "own"; }
  int64_t saved_bytes() const override {
    return r_.average || !r_.backward ? 0 : r_.y.elements() * int64_t(small_ ? sizeof(uint8_t) : sizeof(int32_t));
  }

  int64_t backward_scratch() const override {
    return sums_apart() ? parts_ * plane_values() * int64_t(sizeof(float)) : 0;
  }

  void forward(Context& context, const void* x, void* y, float* argmax, void* saved, void*) override {
    const T* from = static_cast<const T*>(x);
    if (width_ == kLanes)
      forward_wide<kLanes>(context, from, static_cast<T*>(y), argmax, saved);
    else
      forward_wide<1>(context, from, static_cast<T*>(y), argmax, saved);
  }
  void backward(Context& context, const void* dy, void* dx, const void* saved, void* scratch) override {
    const T* from = static_cast<const T*>(dy);
    if (width_ == kLanes)
      backward_wide<kLanes>(context, from, static_cast<T*>(dx), saved, scratch);
    else
      backward_wide<1>(context, from, static_cast<T*>(dx), saved, scratch);
  }

 private:
  int64_t plane_values() const { return h_ * w_ * width_; }
  /// Whether dx is summed in a separate buffer with higher precision.
  bool sums_apart() const { return !std::is_same_v<T, float> && !tiled_; }

  /// Calls body(x plane's offset, y position's offset, rows, columns) for every output position, planes in parallel.
  template <typename Body>
  void each_window(int64_t begin, int64_t end, const Body& body) const {
    for (int64_t plane = begin; plane < end; ++plane)
      for (int64_t oh = 0; oh < out_h_; ++oh) {
        const Side& row = rows_[size_t(oh)];
        int64_t out = (plane * out_h_ + oh) * out_w_ * width_;
        for (const Side& column : columns_) {
          body(plane * h_ * w_ * width_, out, row, column);
          out += width_;
        }
      }
  }

  template <int width>
  void forward_wide(Context& context, const T* x, T* y, float* argmax, void* saved) {
    parallel_ranges(context, planes_, 1, [&](int64_t begin, int64_t end) {
      if (r_.average)
        average<width>(begin, end, x, y);
      else if (small_)
        maximum<width>(begin, end, x, y, argmax, static_cast<uint8_t*>(saved));
      else
        maximum<width>(begin, end, x, y, argmax, static_cast<int32_t*>(saved));
    });
  }

  template <int width>
  void average(int64_t first, int64_t last, const T* x, T* y) const {
    using P = Place<width>;
    each_window(first, last, [&](int64_t plane, int64_t out, const Side& row, const Side& column) {
      typename P::Value sum{};
      for (int64_t h = row.begin; h < row.end; ++h)
        for (int64_t w = column.begin; w < column.end; ++w) sum += P::get(x + plane + (h * w_ + w) * width);
      P::put(y + out, sum / float(row.divisor * column.divisor));
    });
  }

  template <int width, typename Stored>
  void maximum(int64_t first, int64_t last, const T* x, T* y, float* argmax, Stored* saved) const {
    using P = Place<width>;
    each_window(first, last, [&](int64_t plane, int64_t out, const Side& row, const Side& column) {
      const bool empty = row.begin == row.end || column.begin == column.end;
      typename P::Value best{};
      if (!empty) best = P::get(x + plane + (row.begin * w_ + column.begin) * width);
      typename P::Index place = P::all(int32_t((row.begin - row.origin) * r_.kernel_w + column.begin - column.origin));
      for (int64_t h = row.begin; h < row.end; ++h)
        for (int64_t w = column.begin; w < column.end; ++w) {
          const auto value = P::get(x + plane + (h * w_ + w) * width);
          const auto here = P::all(int32_t((h - row.origin) * r_.kernel_w + w - column.origin));
          const auto wins = P::wins(value, best);
          place = P::chosen(wins, here, place);
          best = P::chosen(wins, value, best);
        }
      P::put(y + out, best);
      if (r_.backward) P::put_index(saved + out, place);
      if constexpr (width == 1)
        if (argmax) argmax[out] = empty ? -1 : float(image_place(row, column, place));
    });
  }

  int64_t image_place(const Side& row, const Side& column, int32_t place) const {
    return (row.origin + place / r_.kernel_w) * w_ + column.origin + place % r_.kernel_w;
  }

  template <int width>
  void backward_wide(Context& context, const T* dy, T* dx, const void* saved, void* scratch) {
    parallel_ranges(context, parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        for (int64_t plane = planes_ * part / parts_; plane < planes_ * (part + 1) / parts_; ++plane) {
          T* to = dx + plane * plane_values();
          if (!dy) {
            std::fill_n(to, plane_values(), T(0.0f));
          } else if (sums_apart()) {
            float* sums = static_cast<float*>(scratch) + part * plane_values();
            backward_plane<width>(plane, dy, sums, saved);
            round<width>(sums, to);
          } else {
            backward_plane<width>(plane, dy, to, saved);
          }
        }
    });
  }

  template <int width>
  void round(const float* sums, T* to) const {
    for (int64_t i = 0; i < plane_values(); i += width) Place<width>::put(to + i, Place<width>::get(sums + i));
  }

  /// One plane at a time, so that its zeros are still cached.
  template <int width, typename To>
  void backward_plane(int64_t plane, const T* dy, To* dx, const void* saved) const {
    if (!tiled_) std::fill_n(dx, plane_values(), To(0.0f));
    if (r_.average)
      spread_average<width>(plane, dy, dx);
    else if (small_)
      scatter_gradient<width>(plane, dy, dx, static_cast<const uint8_t*>(saved));
    else
      scatter_gradient<width>(plane, dy, dx, static_cast<const int32_t*>(saved));
  }

  template <int width, typename To>
  void spread_average(int64_t which, const T* dy, To* dx) const {
    using P = Place<width>;
    each_window(which, which + 1, [&](int64_t, int64_t out, const Side& row, const Side& column) {
      const auto share = P::get(dy + out) / float(row.divisor * column.divisor);
      for (int64_t h = row.begin; h < row.end; ++h)
        for (int64_t w = column.begin; w < column.end; ++w) {
          To* to = dx + (h * w_ + w) * width;
          P::put(to, tiled_ ? share : P::get(to) + share);
        }
    });
  }

  template <int width, typename To, typename Stored>
  void scatter_gradient(int64_t which, const T* dy, To* dx, const Stored* saved) const {
    using P = Place<width>;
    each_window(which, which + 1, [&](int64_t, int64_t out, const Side& row, const Side& column) {
      if (row.begin == row.end || column.begin == column.end) return;
      const auto place = P::get_index(saved + out);
      if constexpr (width == 1) {
        To* to = dx + image_place(row, column, place);
        P::put(to, P::get(to) + P::get(dy + out));
      } else {
        const auto gradient = P::get(dy + out);
        if (!tiled_ && r_.kernel_h == 3 && r_.kernel_w == 3 && row.end - row.begin == 3 &&
            column.end - column.begin == 3)
          return scatter_gradient_three(place, gradient, dx + (row.begin * w_ + column.begin) * width);
        for (int64_t h = row.begin; h < row.end; ++h)
          for (int64_t w = column.begin; w < column.end; ++w) {
            To* to = dx + (h * w_ + w) * width;
            const auto here = P::all(int32_t((h - row.origin) * r_.kernel_w + w - column.origin));
            const Vec16f passed = select(place == here, gradient, Vec16f{});
            P::put(to, tiled_ ? passed : P::get(to) + passed);
          }
      }
    });
  }

  /// The common 3x3 window inside the image: the compiler unrolls this loop, which is up to twice as fast.
  template <typename To>
  void scatter_gradient_three(const Place<kLanes>::Index& place, const Vec16f& gradient, To* corner) const {
    using P = Place<kLanes>;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        To* to = corner + (i * w_ + j) * kLanes;
        P::put(to, P::get(to) + select(place == P::all(i * 3 + j), gradient, Vec16f{}));
      }
  }

  PoolRequest r_;
  int64_t parts_;
  int width_;
  int64_t h_, w_, out_h_, out_w_, planes_;
  bool small_;
  bool tiled_;  ///< every dx belongs to one window: it is written, not accumulated
  std::vector<Side> rows_, columns_;
};

}  // namespace

std::unique_ptr<Pool> make_pool_native(const PoolRequest& request, Context& context, std::string& why) {
  if (!takes_halves(request.x.dtype, why)) return nullptr;
  if (request.x.layout == Layout::kChannelsLast) return why = "only plain and blocked layouts", nullptr;
  return with_half_type(request.x.dtype, [&](auto type) -> std::unique_ptr<Pool> {
    return std::make_unique<Own<decltype(type)>>(request, context.pieces);
  });
}

}  // namespace cortado::kernels
