// Local response normalization with one functor call per written value. Backward first writes each value's term of its
// neighbours' gradients to scratch, so that no sum is computed more than twice.

#include <cfloat>
#include <cmath>

#include "core/half.h"
#include "core/loops/for_each.h"
#include "kernels/device/planes.h"
#include "kernels/lrn.h"

namespace cortado::kernels {
namespace {

/// The neighbourhood of a value, and the parameters of s.
struct Region {
  Planes x;
  bool within;
  int64_t half;
  float factor, base, beta;

  /// The sum of value(j) over the neighbours j of `at`, including `at`.
  template <typename Value>
  CORTADO_HD float sum(const PlaneIndex& at, const Value& value) const {
    const int64_t channels = within ? 0 : half, places = within ? half : 0;
    float total = 0;
    for (int64_t c = low(at.c, channels); c < high(at.c, channels, x.c); ++c)
      for (int64_t h = low(at.h, places); h < high(at.h, places, x.h); ++h)
        for (int64_t w = low(at.w, places); w < high(at.w, places, x.w); ++w) total += value(x.at({at.n, c, h, w}));
    return total;
  }
  template <typename T>
  CORTADO_HD float scale(const PlaneIndex& at, const T* values) const {
    const float s = base + factor * sum(at, Square<T>{values});
    return s < FLT_MIN ? FLT_MIN : s;
  }

 private:
  template <typename T>
  struct Square {
    const T* values;
    CORTADO_HD float operator()(int64_t i) const { return float(values[i]) * float(values[i]); }
  };
  CORTADO_HD static int64_t low(int64_t i, int64_t reach) { return i > reach ? i - reach : 0; }
  CORTADO_HD static int64_t high(int64_t i, int64_t reach, int64_t n) { return i + reach < n ? i + reach + 1 : n; }
};

template <typename T>
struct LrnGenericForward {
  Region region;
  const T* x;
  T* y;

  CORTADO_HD void operator()(int64_t i) const {
    const float s = region.scale(region.x.stored(i), x);
    y[i] = T(float(x[i]) * powf(s, -region.beta));
  }
};

/// dy y / s
template <typename T>
struct Terms {
  Region region;
  const T *x, *dy;
  float* terms;

  CORTADO_HD void operator()(int64_t i) const {
    const float s = region.scale(region.x.stored(i), x);
    terms[i] = float(dy[i]) * float(x[i]) * powf(s, -region.beta) / s;
  }
};

struct Term {
  const float* terms;
  CORTADO_HD float operator()(int64_t i) const { return terms[i]; }
};

template <typename T>
struct LrnGenericGradient {
  Region region;
  const T *x, *dy;
  T* dx;
  const float* terms;

  CORTADO_HD void operator()(int64_t i) const {
    const PlaneIndex at = region.x.stored(i);
    const float direct = float(dy[i]) * powf(region.scale(at, x), -region.beta);
    const float slope = 2 * region.factor * region.beta;
    dx[i] = T(direct - slope * float(x[i]) * region.sum(at, Term{terms}));
  }
};

class LrnGeneric final : public Lrn {
 public:
  explicit LrnGeneric(const LrnRequest& r)
      : dtype_(r.x.dtype),
        region_{planes_of(r.x),
                r.within_channel,
                r.size / 2,
                r.alpha / (float(r.size) * (r.within_channel ? float(r.size) : 1)),
                r.within_channel ? 1 : r.k,
                r.beta} {}

  std::string name() const override { return "plain"; }
  int64_t backward_scratch() const override { return region_.x.count() * int64_t(sizeof(float)); }

  void forward(Context& context, const void* x, void* y, void*) override {
    with_float_type(dtype_, [&](auto type) {
      using T = decltype(type);
      for_each(context, region_.x.count(), LrnGenericForward<T>{region_, static_cast<const T*>(x), static_cast<T*>(y)});
    });
  }

  void backward(Context& context, const void* x, const void* dy, void* dx, void* scratch) override {
    float* terms = static_cast<float*>(scratch);
    with_float_type(dtype_, [&](auto type) {
      using T = decltype(type);
      const T *value = static_cast<const T*>(x), *gradient = static_cast<const T*>(dy);
      for_each(context, region_.x.count(), Terms<T>{region_, value, gradient, terms});
      for_each(context, region_.x.count(), LrnGenericGradient<T>{region_, value, gradient, static_cast<T*>(dx), terms});
    });
  }

 private:
  DType dtype_;
  Region region_;
};

}  // namespace

std::unique_ptr<Lrn> make_lrn_generic(const LrnRequest& request, Context&, std::string& why) {
  if (!is_plane_layout(request.x.layout, why)) return nullptr;
  return std::make_unique<LrnGeneric>(request);
}

}  // namespace cortado::kernels
