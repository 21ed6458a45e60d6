#include "core/half.h"
#include "kernels/device/channel_sums.h"
#include "kernels/device/filters.h"
#include "kernels/device/products.h"

namespace cortado::kernels {
namespace {

template <typename T>
struct FillFilters {
  FilterCopy spec;
  const float* w;
  T* copy;
  CORTADO_HD void operator()(int64_t i) const { copy[i] = T(w[spec.source(i)]); }
};

template <typename T>
struct ReadFilters {
  FilterCopy spec;
  const T* copy;
  float* dw;
  bool add;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t to = spec.source(i);
    dw[to] = float(copy[i]) + (add ? dw[to] : 0.0f);
  }
};

template <typename T, typename Bias>
struct FinishConvolution {
  const T *from, *z;
  const Bias* bias;
  T* y;
  bool relu;
  float ceiling;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    y[i] = T(finished(float(from[i]) + (z ? float(z[i]) : 0.0f), bias, c, relu, ceiling));
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
    for_each(context, spec.count(), FillFilters<T>{spec, w, static_cast<T*>(copy)});
  });
}

void read_filters(Context& context, const FilterCopy& spec, const void* copy, float* dw, bool add) {
  with_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    for_each(context, spec.count(), ReadFilters<T>{spec, static_cast<const T*>(copy), dw, add});
  });
}

void finish_convolution(Context& context, const TensorSpec& y_spec, const void* from, const ConvolutionEnd& end,
                        void* y) {
  with_float_type(y_spec.dtype, [&](auto type) {
    using T = decltype(type);
    const auto finish = [&](const auto* bias) {
      using Bias = std::remove_cvref_t<decltype(*bias)>;
      for_each_channel(context, channel_view(y_spec),
                       FinishConvolution<T, Bias>{static_cast<const T*>(from), static_cast<const T*>(end.z), bias,
                                                  static_cast<T*>(y), end.relu, end.ceiling});
    };
    if (end.bias_type == DType::kF32) return finish(static_cast<const float*>(end.bias));
    finish(static_cast<const T*>(end.bias));
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
