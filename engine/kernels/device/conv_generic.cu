// Direct convolution: one sum per value of the result, over its input positions (output positions in backward), with
// fused post-ops and channel sums. Uses no im2col and no scratch, and reads operands as often as they are used. Accepts
// every request without blocked layouts; used where no library runs or accepts a request.

#include <algorithm>

#include "core/half.h"
#include "core/loops/for_each.h"
#include "kernels/conv_lines.h"
#include "kernels/device/channel_pair_sums.h"
#include "kernels/device/filter_format.h"
#include "kernels/device/filters.h"
#include "kernels/device/planes.h"
#include "kernels/device/products.h"

namespace cortado::kernels {
namespace {

/// Bytes of an operand.
template <typename T>
int64_t bytes(const Planes& planes) {
  return planes.count() * int64_t(sizeof(T));
}

/// Filters are K x C/groups x taps of the lines x w, or K x taps x C/groups. The h of the planes counts lines.
struct ConvGenericGeometry {
  Planes x, y;
  ConvLines lines;
  ConvPlaces w;
  int64_t c, k;       ///< channels per group
  bool filters_last;  ///< filters have the second order

  CORTADO_HD int64_t taps() const { return lines.kernel * w.kernel; }
  CORTADO_HD int64_t weight(int64_t filter, int64_t channel, int64_t tap) const {
    return filters_last ? (filter * taps() + tap) * c + channel : (filter * c + channel) * taps() + tap;
  }
  CORTADO_HD int64_t channel_step() const { return filters_last ? 1 : taps(); }  ///< stride between channels' weights
  int64_t weights() const { return y.c * c * taps(); }
  /// The number of values of x that any window covers; not all if the stride exceeds the window.
  int64_t touched() const { return x.n * x.c * std::min(x.h, y.h * lines.kernel) * std::min(x.w, y.w * w.kernel); }
};

ConvGenericGeometry geometry_of(const ConvShape& s, bool filters_last) {
  const ConvLines lines(s);
  return {{s.n, s.c, lines.in, s.w.in, s.x_layout == Layout::kChannelsLast},
          {s.n, s.k, lines.out, s.w.out(), s.y_layout == Layout::kChannelsLast},
          lines,
          ConvPlaces(s.w),
          s.c / s.groups,
          s.k / s.groups,
          filters_last};
}

/// Weights and biases are floats, or Ts.
template <typename T, typename W>
struct ConvGenericForward {
  /// The products of one tap.
  struct Term {
    const T* x;
    const W* w;
    int64_t x_step, w_step;
    CORTADO_HD float operator()(int64_t c) const { return float(x[c * x_step]) * float(w[c * w_step]); }
  };

  ConvGenericGeometry g;
  const T *x, *z;
  const W *w, *bias;
  T* y;
  Activation activation;

  /// As for an engine that reads each operand once.
  Traffic traffic(int64_t) const {
    const int64_t of_y = bytes<T>(g.y), parameters = g.weights() + (bias ? g.y.c : 0);
    return {g.touched() * int64_t(sizeof(T)) + parameters * int64_t(sizeof(W)) + (z ? of_y : 0), of_y};
  }
  CORTADO_HD void operator()(int64_t at) const {
    const PlaneIndex o = g.y.stored(at);
    const int64_t first = o.c / g.k * g.c, step = g.x.last ? 1 : g.x.h * g.x.w;
    float total = z ? float(z[at]) : 0.0f;
    for (int64_t i = 0; i < g.lines.kernel; ++i) {
      const int64_t h = g.lines.input(o.h, i);
      for (int64_t j = 0; h >= 0 && j < g.w.kernel; ++j) {
        const int64_t v = g.w.input(o.w, j);
        if (v < 0) continue;
        const Term term{x + g.x.at({o.n, first, h, v}), w + g.weight(o.c, 0, i * g.w.kernel + j), step,
                        g.channel_step()};
        total += sum_of(g.c, term);
      }
    }
    y[at] = T(finished(total, bias, o.c, activation));
  }
};

/// A pack of y, and its contribution to its channels' sums: a term of sum_shares().
template <typename T, typename W, int kWidth>
struct ForwardAndSums {
  ConvGenericForward<T, W> forward;

  struct Loaded {};
  Traffic traffic(int64_t packs) const { return forward.traffic(packs * kWidth); }
  CORTADO_HD Loaded of(int64_t) const { return {}; }
  CORTADO_HD Loaded load(int64_t) const { return {}; }
  CORTADO_HD void add(Loaded, Loaded, int64_t pack, Values<kWidth>& a, Values<kWidth>& b) const {
    for (int i = 0; i < kWidth; ++i) {
      const int64_t at = pack * kWidth + i;
      forward(at);
      const float v = float(forward.y[at]);
      a.v[i] += v;
      b.v[i] = fmaf(v, v, b.v[i]);
    }
  }
};

template <typename T, typename W>
struct ConvGenericBackwardData {
  struct Term {
    const T* dy;
    const W* w;
    int64_t dy_step, w_step;
    CORTADO_HD float operator()(int64_t k) const { return float(dy[k * dy_step]) * float(w[k * w_step]); }
  };

  ConvGenericGeometry g;
  const T* dy;
  const W* w;
  T* dx;

  Traffic traffic(int64_t) const { return {bytes<T>(g.y) + g.weights() * int64_t(sizeof(W)), bytes<T>(g.x)}; }
  CORTADO_HD void operator()(int64_t at) const {
    const PlaneIndex p = g.x.stored(at);
    const int64_t first = p.c / g.c * g.k, step = g.y.last ? 1 : g.y.h * g.y.w;
    float total = 0;
    for (int64_t i = 0; i < g.lines.kernel; ++i) {
      const int64_t h = g.lines.output(p.h, i);
      for (int64_t j = 0; h >= 0 && j < g.w.kernel; ++j) {
        const int64_t v = g.w.output(p.w, j);
        if (v < 0) continue;
        const Term term{dy + g.y.at({p.n, first, h, v}), w + g.weight(first, p.c % g.c, i * g.w.kernel + j), step,
                        g.c * g.taps()};
        total += sum_of(g.k, term);
      }
    }
    dx[at] = T(total);
  }
};

/// The contribution of a line of output positions to one weight's gradient.
template <typename T>
struct WeightTerm {
  ConvGenericGeometry g;
  const T *x, *dy;
  Traffic traffic(int64_t) const {
    return {g.touched() * int64_t(sizeof(T)) + bytes<T>(g.y), g.weights() * int64_t(sizeof(float))};
  }
  CORTADO_HD float operator()(int64_t weight, int64_t line) const {
    const int64_t tap = weight % g.taps(), c = weight / g.taps() % g.c, filter = weight / g.taps() / g.c;
    const int64_t n = line / g.y.h, oh = line % g.y.h, j = tap % g.w.kernel;
    const int64_t h = g.lines.input(oh, tap / g.w.kernel);
    if (h < 0) return 0;
    const T *from = x + g.x.at({n, filter / g.k * g.c + c, h, 0}), *gradient = dy + g.y.at({n, filter, oh, 0});
    const int64_t x_step = g.x.last ? g.x.c : 1, dy_step = g.y.last ? g.y.c : 1;
    float sum = 0;
    for (int64_t ow = 0; ow < g.y.w; ++ow) {
      const int64_t w = g.w.input(ow, j);
      if (w >= 0) sum += float(from[w * x_step]) * float(gradient[ow * dy_step]);
    }
    return sum;
  }
};

template <typename T>
struct BiasTerm {
  Planes y;
  const T* dy;
  Traffic traffic(int64_t) const { return {bytes<T>(y), y.c * int64_t(sizeof(float))}; }
  CORTADO_HD float operator()(int64_t filter, int64_t line) const {
    const T* gradient = dy + y.at({line / y.h, filter, line % y.h, 0});
    float sum = 0;
    for (int64_t w = 0; w < y.w; ++w) sum += float(gradient[w * (y.last ? y.c : 1)]);
    return sum;
  }
};

class ConvGeneric final : public ConvKernel {
 public:
  ConvGeneric(const ConvRequest& request, ConvDirection direction, WeightFormat filters)
      : request_(request),
        direction_(direction),
        filters_(std::move(filters)),
        shares_(pack_shares(request.shape.y())),
        g_(geometry_of(request.shape, !filters_.is_plain() && reads_filters_last(request.shape))) {}

  std::string name() const override { return "plain"; }
  WeightFormat weight_format() const override { return filters_; }
  SumPlace sum_place() const override { return SumPlace::kAnywhere; }
  int64_t scratch() const override { return sums() ? shares_.bytes() : 0; }

  void run(Context& context, const ConvOperands& io, void* scratch) override {
    state_copies(context, io);
    with_float_type(request_.shape.dtype, [&](auto type) {
      using T = decltype(type);
      if (direction_ == ConvDirection::kBackwardWeights)
        return backward_weights<T>(context, static_cast<const T*>(io.x), static_cast<const T*>(io.dy), io.d);
      if (filters_.dtype() == DType::kF32) return run_with<T, float>(context, io, scratch);
      run_with<T, T>(context, io, scratch);
    });
  }

 private:
  bool sums() const { return request_.sums && direction_ == ConvDirection::kForward; }

  /// Counts what kernels/cuda/conv_cudnn.cc does in addition: filters are converted to the type and order of x and back
  /// unless they come so, and a bias gradient takes two passes.
  void state_copies(Context& context, const ConvOperands& io) const {
    const ConvShape& s = request_.shape;
    if (!s.outer.empty()) return;
    const FilterCopy copy{s.k, g_.c, g_.taps(), reads_filters_last(s), s.dtype};
    const int64_t floats = copy.count() * int64_t(sizeof(float));
    if (direction_ != ConvDirection::kBackwardWeights) {
      if (filters_.is_plain() && copy.differs()) state_launches(context, 1, {floats, copy.bytes()});
      return;
    }
    if (io.d.w && (copy.differs() || io.d.add_w)) state_launches(context, 1, {copy.bytes(), floats});
    if (io.d.bias) state_launches(context, 1, {});
  }

  template <typename T, typename W>
  void run_with(Context& context, const ConvOperands& io, void* scratch) const {
    const W *w = static_cast<const W*>(io.w), *bias = static_cast<const W*>(io.bias);
    const T *x = static_cast<const T*>(io.x), *z = request_.post.sum ? static_cast<const T*>(io.z) : nullptr;
    if (direction_ == ConvDirection::kBackwardData)
      return for_each(context, g_.x.count(),
                      ConvGenericBackwardData<T, W>{g_, static_cast<const T*>(io.dy), w, static_cast<T*>(io.dx)});
    const ConvGenericForward<T, W> forward{g_, x, z, w, bias, static_cast<T*>(io.y), request_.post.activation};
    if (!sums()) return for_each(context, g_.y.count(), forward);
    if (shares_.width == 1)
      forward_and_sums<1>(context, forward, io.sums, static_cast<float*>(scratch));
    else
      forward_and_sums<Pack<T>::kWidth>(context, forward, io.sums, static_cast<float*>(scratch));
  }

  template <int kWidth, typename T, typename W>
  void forward_and_sums(Context& context, const ConvGenericForward<T, W>& forward, float* sums,
                        float* of_shares) const {
    sum_shares<kWidth>(context, shares_, ForwardAndSums<T, W, kWidth>{forward}, of_shares);
    finish_channels(context, shares_, shares_.shares, of_shares, KeepSums{sums, request_.shape.k});
  }

  template <typename T>
  void backward_weights(Context& context, const T* x, const T* dy, const WeightGradients& d) const {
    const int64_t lines = g_.y.n * g_.y.h;
    if (d.w) reduce_rows(context, request_.shape.weight().count(), lines, WeightTerm<T>{g_, x, dy}, d.w, d.add_w);
    if (d.bias) reduce_rows(context, request_.shape.k, lines, BiasTerm<T>{g_.y, dy}, d.bias, d.add_bias);
  }

  ConvRequest request_;
  ConvDirection direction_;
  WeightFormat filters_;
  PackShares shares_;  ///< of y, for its sums
  ConvGenericGeometry g_;
};

std::unique_ptr<ConvKernel> make(const ConvRequest& request, ConvDirection direction, Context&, std::string& why) {
  if (!is_plane_layout(request.shape.x_layout, why) || !is_plane_layout(request.shape.y_layout, why)) return nullptr;
  const auto filters = device_format(request, why);
  return filters ? std::make_unique<ConvGeneric>(request, direction, *filters) : nullptr;
}

/// Assumes 1e12 multiplications per second.
double cost(const ConvRequest& request, ConvDirection, CpuLevel) { return double(request.shape.macs()) / 1e12; }

}  // namespace

ConvCandidate plain_conv_candidate() { return {"plain", make, cost}; }

}  // namespace cortado::kernels
