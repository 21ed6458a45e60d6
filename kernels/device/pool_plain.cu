// Pooling with one functor call for each value that is written: forward looks through the output's window, backward
// through the windows that an input lies in. Takes every request that is not in blocks.
//
// The maximum's place in the image is saved as 32 bits, -1 for a window wholly outside, which gives 0.

#include "core/for_each.h"
#include "core/half.h"
#include "kernels/device/planes.h"
#include "kernels/pool.h"

namespace cortado::kernels {
namespace {

/// One side of a window: where it begins and ends in the image, and how long it counts in an average.
struct Side {
  int64_t begin, end, divisor;
};

/// The windows along one axis.
struct Windows {
  int64_t in, out, kernel, stride, pad;
  bool count_padding;

  CORTADO_HD Side side(int64_t o) const {
    const int64_t start = o * stride - pad, stop = start + kernel < in + pad ? start + kernel : in + pad;
    const int64_t begin = start > 0 ? start : 0, limit = stop < in ? stop : in, end = limit > begin ? limit : begin;
    const int64_t length = count_padding ? stop - start : end - begin;
    return {begin, end, length > 1 ? length : 1};
  }
  /// The windows [begin, end) that input i lies in.
  CORTADO_HD int64_t first_over(int64_t i) const { return i + pad < kernel ? 0 : (i + pad - kernel) / stride + 1; }
  CORTADO_HD int64_t end_over(int64_t i) const {
    const int64_t end = (i + pad) / stride + 1;
    return end < out ? end : out;
  }
};

struct Geometry {
  Planes x, y;
  Windows h, w;
};

template <typename T>
struct Maximum {
  Geometry g;
  const T* x;
  T* y;
  int32_t* saved;  ///< may be null
  float* argmax;   ///< may be null

  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex o = g.y.stored(i);
    const Side rows = g.h.side(o.h), columns = g.w.side(o.w);
    float best = 0;
    int64_t place = -1;
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const float value = x[g.x.at({o.n, o.c, h, w})];
        if (place < 0 || value > best) best = value, place = h * g.x.w + w;
      }
    y[i] = T(best);
    if (saved) saved[i] = int32_t(place);
    if (argmax) argmax[i] = float(place);
  }
};

template <typename T>
struct Average {
  Geometry g;
  const T* x;
  T* y;

  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex o = g.y.stored(i);
    const Side rows = g.h.side(o.h), columns = g.w.side(o.w);
    float sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = columns.begin; w < columns.end; ++w) sum += float(x[g.x.at({o.n, o.c, h, w})]);
    y[i] = T(sum / float(rows.divisor * columns.divisor));
  }
};

template <typename T>
struct Gradient {
  Geometry g;
  const T* dy;
  T* dx;
  const int32_t* saved;  ///< of the largest values; null for averages

  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex at = g.x.stored(i);
    float sum = 0;
    for (int64_t h = g.h.first_over(at.h); h < g.h.end_over(at.h); ++h)
      for (int64_t w = g.w.first_over(at.w); w < g.w.end_over(at.w); ++w) {
        const int64_t o = g.y.at({at.n, at.c, h, w});
        if (!saved)
          sum += float(dy[o]) / float(g.h.side(h).divisor * g.w.side(w).divisor);
        else if (saved[o] == at.h * g.x.w + at.w)
          sum += float(dy[o]);
      }
    dx[i] = T(sum);
  }
};

template <typename T>
struct Zero {
  T* dx;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = T(0.0f); }
};

class Plain final : public Pool {
 public:
  explicit Plain(const PoolRequest& r)
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
    with_float_type(r_.x.dtype, [&](auto type) {
      using T = decltype(type);
      const T* from = static_cast<const T*>(x);
      T* to = static_cast<T*>(y);
      int32_t* places = r_.backward ? static_cast<int32_t*>(saved) : nullptr;
      if (r_.average)
        for_each(context, g_.y.count(), Average<T>{g_, from, to});
      else
        for_each(context, g_.y.count(), Maximum<T>{g_, from, to, places, argmax});
    });
  }

  void backward(Context& context, const void* dy, void* dx, const void* saved, void*) override {
    with_float_type(r_.x.dtype, [&](auto type) {
      using T = decltype(type);
      T* to = static_cast<T*>(dx);
      const int32_t* places = r_.average ? nullptr : static_cast<const int32_t*>(saved);
      if (dy)
        for_each(context, g_.x.count(), Gradient<T>{g_, static_cast<const T*>(dy), to, places});
      else
        for_each(context, g_.x.count(), Zero<T>{to});
    });
  }

 private:
  PoolRequest r_;
  Geometry g_;
};

}  // namespace

std::unique_ptr<Pool> make_pool_plain(const PoolRequest& request, Context&, std::string& why) {
  if (!is_plane_layout(request.x.layout, why)) return nullptr;
  if (request.x.shape.count(2) > INT32_MAX) return why = "more than 2^31 places", nullptr;
  return std::make_unique<Plain>(request);
}

}  // namespace cortado::kernels
