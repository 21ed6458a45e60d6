#include "core/half.h"
#include "core/loops/divisor.h"
#include "kernels/device/cast.h"
#include "kernels/device/channel_pair_sums.h"
#include "kernels/device/channel_sums.h"
#include "kernels/device/filters.h"
#include "kernels/device/products.h"

namespace cortado::kernels {
namespace {

/// FilterCopy::source() for filters whose order changes.
struct Order {
  Divisor c, taps;
  CORTADO_HD int64_t of(int64_t i) const {
    const int64_t row = c.of(i), filter = taps.of(row);
    return (filter * c.value() + i - row * c.value()) * taps.value() + row - filter * taps.value();
  }
};

template <typename T>
struct FillInOrder {
  Order order;
  const float* w;
  T* copy;
  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(float)), n * int64_t(sizeof(T))}; }
  CORTADO_HD void operator()(int64_t i) const { copy[i] = T(w[order.of(i)]); }
};

template <typename T>
struct ReadInOrder {
  Order order;
  const T* copy;
  float* dw;
  bool add;
  float factor;
  Traffic traffic(int64_t n) const {
    return {n * int64_t(sizeof(T) + (add ? sizeof(float) : 0)), n * int64_t(sizeof(float))};
  }
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t to = order.of(i);
    dw[to] = factor * float(copy[i]) + (add ? dw[to] : 0.0f);
  }
};

template <typename T>
struct Read {
  const T* copy;
  float* dw;
  bool add;
  float factor;
  using Arrays = ByPacks<In<&Read::copy>, Out<&Read::dw>>;
  bool by_packs() const { return !add; }
  CORTADO_HD void operator()(int64_t i) const { dw[i] = factor * float(copy[i]) + (add ? dw[i] : 0.0f); }
};

template <typename T, typename Bias>
struct FiltersFinish {
  const T* from;
  const Bias* bias;
  T* y;
  Activation activation;
  using Arrays = ByPacks<In<&FiltersFinish::from>, Out<&FiltersFinish::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { y[i] = T(finished(float(from[i]), bias, c, activation)); }
};

template <typename T, typename Bias>
struct FinishSum {
  const T *from, *z;
  const Bias* bias;
  T* y;
  Activation activation;
  using Arrays = ByPacks<In<&FinishSum::from>, In<&FinishSum::z>, Out<&FinishSum::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    y[i] = T(finished(float(from[i]) + float(z[i]), bias, c, activation));
  }
};

template <typename T>
struct ValueTerm {
  const T* dy;
  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(T)), 0}; }
  CORTADO_HD TwoSums operator()(int64_t i, int64_t) const { return {float(dy[i]), 0}; }
};

/// Sums of values and of their squares, for sum_shares().
template <typename T, int kWidth>
struct ResultTerm {
  const T* y;

  using Loaded = RawValues<T, kWidth>;
  struct None {};
  Traffic traffic(int64_t packs) const { return {packs * kWidth * int64_t(sizeof(T)), 0}; }
  CORTADO_HD None of(int64_t) const { return {}; }
  CORTADO_HD Loaded load(int64_t pack) const { return load_raw<kWidth>(y + pack * kWidth); }
  CORTADO_HD void add(None, const Loaded& loaded, int64_t, Values<kWidth>& a, Values<kWidth>& b) const {
    const Values<kWidth> value = loaded.floats();
    for (int i = 0; i < kWidth; ++i) {
      a.v[i] += value.v[i];
      b.v[i] = fmaf(value.v[i], value.v[i], b.v[i]);
    }
  }
};

}  // namespace

void fill_filters(Context& context, const FilterCopy& spec, const float* w, void* copy) {
  with_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    T* to = static_cast<T*>(copy);
    if (spec.moves())
      for_each(context, spec.count(), FillInOrder<T>{{Divisor(spec.c), Divisor(spec.taps)}, w, to});
    else
      for_each(context, spec.count(), Cast<float, T>{w, to});
  });
}

void read_filters(Context& context, const FilterCopy& spec, const void* copy, float* dw, bool add, float factor) {
  with_float_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    const T* from = static_cast<const T*>(copy);
    if (spec.moves())
      for_each(context, spec.count(), ReadInOrder<T>{{Divisor(spec.c), Divisor(spec.taps)}, from, dw, add, factor});
    else
      for_each(context, spec.count(), Read<T>{from, dw, add, factor});
  });
}

void finish_convolution(Context& context, const TensorSpec& y_spec, const void* from, const ConvolutionEnd& end,
                        void* y) {
  with_float_type(y_spec.dtype, [&](auto type) {
    using T = decltype(type);
    const T *x = static_cast<const T*>(from), *z = static_cast<const T*>(end.z);
    T* to = static_cast<T*>(y);
    const auto finish = [&](const auto* bias) {
      using Bias = std::remove_cvref_t<decltype(*bias)>;
      const ChannelView view = channel_view(y_spec);
      if (z)
        for_each_channel(context, view, FinishSum<T, Bias>{x, z, bias, to, end.activation});
      else
        for_each_channel(context, view, FiltersFinish<T, Bias>{x, bias, to, end.activation});
    };
    if (end.bias_type == DType::kF32) return finish(static_cast<const float*>(end.bias));
    finish(static_cast<const T*>(end.bias));
  });
}

int64_t result_sums_scratch(const TensorSpec& y_spec) { return pack_shares(y_spec).bytes(); }

void sum_results(Context& context, const TensorSpec& y_spec, const void* y, float* sums, void* scratch) {
  const PackShares shares = pack_shares(y_spec);
  float* of_shares = static_cast<float*>(scratch);
  with_float_type(y_spec.dtype, [&](auto type) {
    using T = decltype(type);
    const T* from = static_cast<const T*>(y);
    if (shares.width == 1)
      sum_shares<1>(context, shares, ResultTerm<T, 1>{from}, of_shares);
    else
      sum_shares<Pack<T>::kWidth>(context, shares, ResultTerm<T, Pack<T>::kWidth>{from}, of_shares);
  });
  finish_channels(context, shares, shares.shares, of_shares, KeepSums{sums, y_spec.shape[1]});
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
