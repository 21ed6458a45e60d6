// Pooling with one functor call per written value, or per pack of adjacent channels. Forward iterates over the output's
// window, backward over the windows that contain an input. Accepts every request without blocked layouts.
//
// The position of the maximum in the image is saved in 32 bits; it is -1 for a window entirely outside, which yields 0.

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "core/half.h"
#include "core/loops/exceeds.h"
#include "core/loops/for_each.h"
#include "kernels/device/lanes_of_pack.h"
#include "kernels/device/planes.h"
#include "kernels/pool.h"

namespace cortado::kernels {
namespace {

/// One axis of a window: its range in the image, and its extent in an average's divisor.
struct PoolGenericSide {
  int64_t begin, end, divisor;
};

/// The windows along one axis.
struct Windows {
  int64_t in, out, kernel, stride, pad;
  bool count_padding;
  Divisor strides = Divisor(stride);

  CORTADO_HD PoolGenericSide side(int64_t o) const {
    const int64_t start = o * stride - pad, stop = start + kernel < in + pad ? start + kernel : in + pad;
    const int64_t begin = start > 0 ? start : 0, limit = stop < in ? stop : in, end = limit > begin ? limit : begin;
    const int64_t length = count_padding ? stop - start : end - begin;
    return {begin, end, length > 1 ? length : 1};
  }
  /// The windows [begin, end) that contain input i.
  CORTADO_HD int64_t first_over(int64_t i) const { return i + pad < kernel ? 0 : strides.of(i + pad - kernel) + 1; }
  CORTADO_HD int64_t end_over(int64_t i) const {
    const int64_t end = strides.of(i + pad) + 1;
    return end < out ? end : out;
  }
};

/// A functor's channel may be a pack of channels.
struct PoolGenericGeometry {
  Planes x, y;
  Windows h, w;
};

/// Bytes of an operand whose channels are packs.
template <typename T, int kWide>
int64_t byte_planes(const Planes& planes) {
  return planes.count() * kWide * int64_t(sizeof(T));
}

template <typename T, int kWide>
struct Maximum {
  PoolGenericGeometry g;
  const T* x;
  T* y;
  int32_t* saved;  ///< may be null
  float* argmax;   ///< may be null

  Traffic traffic(int64_t) const {
    const int64_t places = byte_planes<int32_t, kWide>(g.y);
    return {byte_planes<T, kWide>(g.x), byte_planes<T, kWide>(g.y) + (saved ? places : 0) + (argmax ? places : 0)};
  }
  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex o = g.y.stored(i);
    const PoolGenericSide rows = g.h.side(o.h), columns = g.w.side(o.w);
    float best[kWide] = {};
    Lanes<int32_t, kWide> places;
    for (int k = 0; k < kWide; ++k) places.v[k] = -1;
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const Lanes<T, kWide> values = lanes_at<kWide>(x, g.x.at({o.n, o.c, h, w}));
        for (int k = 0; k < kWide; ++k) {
          const float value = values.v[k];
          if (places.v[k] < 0 || exceeds(value, best[k])) best[k] = value, places.v[k] = int32_t(h * g.x.w + w);
        }
      }
    put_floats<kWide>(y, i, best);
    if (saved) put_lanes<kWide>(saved, i, places);
    for (int k = 0; argmax && k < kWide; ++k) argmax[i * kWide + k] = float(places.v[k]);
  }
};

template <typename T, int kWide>
struct Average {
  PoolGenericGeometry g;
  const T* x;
  T* y;

  Traffic traffic(int64_t) const { return {byte_planes<T, kWide>(g.x), byte_planes<T, kWide>(g.y)}; }
  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex o = g.y.stored(i);
    const PoolGenericSide rows = g.h.side(o.h), columns = g.w.side(o.w);
    float sums[kWide] = {};
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const Lanes<T, kWide> values = lanes_at<kWide>(x, g.x.at({o.n, o.c, h, w}));
        for (int k = 0; k < kWide; ++k) sums[k] += float(values.v[k]);
      }
    for (int k = 0; k < kWide; ++k) sums[k] /= float(rows.divisor * columns.divisor);
    put_floats<kWide>(y, i, sums);
  }
};

template <typename T, int kWide>
struct PoolGenericGradient {
  PoolGenericGeometry g;
  const T* dy;
  T* dx;
  const int32_t* saved;  ///< of the maxima; null for averages

  Traffic traffic(int64_t) const {
    return {byte_planes<T, kWide>(g.y) + (saved ? byte_planes<int32_t, kWide>(g.y) : 0), byte_planes<T, kWide>(g.x)};
  }
  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex at = g.x.stored(i);
    const int32_t place = int32_t(at.h * g.x.w + at.w);
    const int64_t h_end = g.h.end_over(at.h), w_begin = g.w.first_over(at.w), w_end = g.w.end_over(at.w);
    float sums[kWide] = {};
    for (int64_t h = g.h.first_over(at.h); h < h_end; ++h)
      for (int64_t w = w_begin; w < w_end; ++w) add(g.y.at({at.n, at.c, h, w}), h, w, place, sums);
    put_floats<kWide>(dx, i, sums);
  }
  CORTADO_HD void add(int64_t o, int64_t h, int64_t w, int32_t place, float* sums) const {
    const Lanes<T, kWide> gradients = lanes_at<kWide>(dy, o);
    if (!saved) {
      const float divisor = float(g.h.side(h).divisor * g.w.side(w).divisor);
      for (int k = 0; k < kWide; ++k) sums[k] += float(gradients.v[k]) / divisor;
      return;
    }
    const Lanes<int32_t, kWide> places = lanes_at<kWide>(saved, o);
    for (int k = 0; k < kWide; ++k)
      if (places.v[k] == place) sums[k] += float(gradients.v[k]);
  }
};

template <typename T>
struct Zero {
  T* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = T(0.0f); }
};

class PoolGeneric final : public Pool {
 public:
  explicit PoolGeneric(const PoolRequest& r)
      : r_(r),
        g_{planes_of(r.x),
           planes_of(r.y),
           {r.x.shape[2], r.y.shape[2], r.kernel_h, r.stride_h, r.pad_h, r.count_padding},
           {r.x.shape[3], r.y.shape[3], r.kernel_w, r.stride_w, r.pad_w, r.count_padding}} {}

  std::string name() const override { return "plain"; }
  int64_t saved_bytes() const override {
    return r_.average || !r_.backward ? 0 : g_.y.count() * int64_t(sizeof(int32_t));
  }

  void forward(Context& context, const void* x, void* y, float* argmax, void* saved, void*) override {
    with_width({x, y, saved}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int kWide = decltype(width)::value;
      const PoolGenericGeometry g = in_packs(kWide);
      const T* from = static_cast<const T*>(x);
      T* to = static_cast<T*>(y);
      int32_t* places = r_.backward ? static_cast<int32_t*>(saved) : nullptr;
      if (r_.average)
        for_each(context, g.y.count(), Average<T, kWide>{g, from, to});
      else
        for_each(context, g.y.count(), Maximum<T, kWide>{g, from, to, places, argmax});
    });
  }

  void backward(Context& context, const void* dy, void* dx, const void* saved, void*) override {
    with_width({dy, dx, saved}, [&](auto type, auto width) {
      using T = decltype(type);
      constexpr int kWide = decltype(width)::value;
      const PoolGenericGeometry g = in_packs(kWide);
      T* to = static_cast<T*>(dx);
      const int32_t* places = r_.average ? nullptr : static_cast<const int32_t*>(saved);
      if (dy)
        for_each(context, g.x.count(), PoolGenericGradient<T, kWide>{g, static_cast<const T*>(dy), to, places});
      else
        for_each(context, g_.x.count(), Zero<T>{to});
    });
  }

 private:
  /// Calls use(T(), channels per call) for operands at these addresses.
  template <typename Use>
  void with_width(std::initializer_list<const void*> operands, const Use& use) const {
    with_float_type(r_.x.dtype, [&](auto type) {
      constexpr int kMax = 16 / int(sizeof(type));
      const bool wide = g_.x.last && g_.y.last && g_.x.c % kMax == 0 && std::ranges::all_of(operands, starts_pack);
      if (wide)
        use(type, std::integral_constant<int, kMax>());
      else
        use(type, std::integral_constant<int, 1>());
    });
  }

  PoolGenericGeometry in_packs(int width) const {
    const auto narrowed = [&](const Planes& p) { return Planes{p.n, p.c / width, p.h, p.w, p.last}; };
    return {narrowed(g_.x), narrowed(g_.y), g_.h, g_.w};
  }

  PoolRequest r_;
  PoolGenericGeometry g_;
};

}  // namespace

std::unique_ptr<Pool> make_pool_generic(const PoolRequest& request, Context&, std::string& why) {
  if (!is_plane_layout(request.x.layout, why)) return nullptr;
  if (request.x.shape.count(2) > INT32_MAX) return why = "more than 2^31 positions", nullptr;
  return std::make_unique<PoolGeneric>(request);
}

}  // namespace cortado::kernels
