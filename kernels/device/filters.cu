#include "core/half.h"
#include "kernels/device/channel_sums.h"
#include "kernels/device/filters.h"
#include "kernels/device/products.h"

namespace cortado::kernels {
namespace {

/// Where the copy's i-th value lies among the filters.
struct Order {
  int64_t c, taps;
  bool last;
  CORTADO_HD int64_t of(int64_t i) const { return last ? (i / (c * taps) * c + i % c) * taps + i / c % taps : i; }
};

template <typename T>
struct FillFilters {
  Order order;
  const float* w;
  T* copy;
  CORTADO_HD void operator()(int64_t i) const { copy[i] = T(w[order.of(i)]); }
};

template <typename T>
struct ReadFilters {
  Order order;
  const T* copy;
  float* dw;
  bool add;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t to = order.of(i);
    dw[to] = float(copy[i]) + (add ? dw[to] : 0.0f);
  }
};

template <typename T>
struct FinishConvolution {
  const T* from;
  const float* bias;
  bool relu, sum;
  T* y;
  float ceiling;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    y[i] = T(finished(float(from[i]) + (sum ? float(y[i]) : 0.0f), bias, c, relu, ceiling));
  }
};

template <typename T>
struct ValueTerm {
  const T* dy;
  CORTADO_HD TwoSums operator()(int64_t i, int64_t) const { return {float(dy[i]), 0}; }
};

}  // namespace

void fill_filters(Context& context, const FilterCopy& spec, const float* w, void* copy) {
  with_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    for_each(context, spec.count(), FillFilters<T>{{spec.c, spec.taps, spec.last}, w, static_cast<T*>(copy)});
  });
}

void read_filters(Context& context, const FilterCopy& spec, const void* copy, float* dw, bool add) {
  with_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    for_each(context, spec.count(),
             ReadFilters<T>{{spec.c, spec.taps, spec.last}, static_cast<const T*>(copy), dw, add});
  });
}

void finish_convolution(Context& context, const TensorSpec& y_spec, const void* from, const float* bias, bool relu,
                        bool sum, void* y, float ceiling) {
  with_float_type(y_spec.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_channel(context, channel_view(y_spec),
                     FinishConvolution<T>{static_cast<const T*>(from), bias, relu, sum, static_cast<T*>(y), ceiling});
  });
}

int64_t bias_gradient_scratch(const TensorSpec& dy_spec) { return channel_parts(dy_spec).bytes(); }

void bias_gradient(Context& context, const TensorSpec& dy_spec, const void* dy, float* dbias, bool add, void* scratch) {
  with_float_type(dy_spec.dtype, [&](auto type) {
    using T = decltype(type);
    sum_channels(context, channel_parts(dy_spec), ValueTerm<T>{static_cast<const T*>(dy)}, dbias, nullptr, scratch,
                 add);
  });
}

}  // namespace cortado::kernels
