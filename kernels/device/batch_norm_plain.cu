// Batch normalisation from the loops of core/for_each.h alone: one pass over x for its statistics, one for the result;
// back, one over x and dy for the sums, one for dx. Statistics come from sums of x - shift and its square, where shift,
// the channel's first value, keeps the sums small. As in kernels/cpu/batch_norm_own.cc the ReLU needs no mask: backward
// repeats forward's arithmetic on x and looks at the sign, and with g = dy where it is positive
//     dbeta = sum g,  dgamma = sum g (x - mean) / std,  dx = gamma / std * (g - dbeta / m - (x - mean) / std * dgamma /
//     m).

#include <cmath>

#include "core/half.h"
#include "kernels/batch_norm.h"
#include "kernels/device/channel_sums.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

/// Of each channel, in scratch: two sums, what x is multiplied with, and the factors of dx.
struct Coefficients {
  float *a, *b, *slope, *by_x, *rest;
};
constexpr int64_t kCoefficients = 5;

/// What forward computes before the ReLU, for both directions alike.
template <typename T>
struct Normal {
  const T* x;
  const float *mean, *slope, *beta;  ///< beta may be null
  CORTADO_HD float centred(int64_t i, int64_t c) const { return float(x[i]) - mean[c]; }
  CORTADO_HD float value(int64_t i, int64_t c) const { return centred(i, c) * slope[c] + (beta ? beta[c] : 0.0f); }
};

/// dy, or 0 where the ReLU stopped x.
template <typename T>
struct Passed {
  Normal<T> normal;
  const T* dy;
  bool relu;
  float ceiling;
  CORTADO_HD float operator()(int64_t i, int64_t c) const {
    if (!relu) return float(dy[i]);
    const float value = normal.value(i, c);
    return value > 0 && value < ceiling ? float(dy[i]) : 0.0f;
  }
};

template <typename T>
struct StatisticsTerm {
  const T* x;
  int64_t stride;  ///< from channel to channel
  CORTADO_HD TwoSums operator()(int64_t i, int64_t c) const {
    const float d = float(x[i]) - float(x[c * stride]);
    return {d, d * d};
  }
};

template <typename T>
struct Statistics {
  const T* x;
  int64_t stride;
  double values;
  const float *a, *b;
  float *mean, *variance;
  CORTADO_HD void operator()(int64_t c) const {
    const double d = double(a[c]) / values, v = double(b[c]) / values - d * d;
    mean[c] = float(double(float(x[c * stride])) + d);
    variance[c] = v < 0 ? 0.0f : float(v);
  }
};

struct Slope {
  const float *variance, *gamma;  ///< gamma may be null
  float eps;
  float* slope;
  CORTADO_HD void operator()(int64_t c) const { slope[c] = (gamma ? gamma[c] : 1.0f) / sqrtf(variance[c] + eps); }
};

struct Zero {
  float *a, *b;
  CORTADO_HD void operator()(int64_t c) const { a[c] = b[c] = 0; }
};

template <typename T>
struct Forward {
  Normal<T> normal;
  T* y;
  bool relu;
  float ceiling;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    const float value = normal.value(i, c);
    y[i] = T(!relu ? value : value < 0 ? 0.0f : value > ceiling ? ceiling : value);
  }
};

template <typename T>
struct GradientTerm {
  Passed<T> passed;
  CORTADO_HD TwoSums operator()(int64_t i, int64_t c) const {
    const float g = passed(i, c);
    return {g, g * passed.normal.centred(i, c)};
  }
};

/// From a channel's sums its gradients and the factors of dx = slope g + by_x (x - mean) + rest.
struct Finish {
  Coefficients k;
  const float* variance;
  float eps;
  double values;
  bool given;
  float *dgamma, *dbeta;  ///< may be null
  bool add_dgamma, add_dbeta;

  CORTADO_HD void operator()(int64_t c) const {
    const double inverse = 1 / sqrt(double(variance[c]) + double(eps));
    if (dgamma) dgamma[c] = float(double(k.b[c]) * inverse + (add_dgamma ? double(dgamma[c]) : 0.0));
    if (dbeta) dbeta[c] = float(double(k.a[c]) + (add_dbeta ? double(dbeta[c]) : 0.0));
    k.by_x[c] = given ? 0.0f : float(-double(k.slope[c]) * inverse * inverse * double(k.b[c]) / values);
    k.rest[c] = given ? 0.0f : float(-double(k.slope[c]) * double(k.a[c]) / values);
  }
};

template <typename T>
struct Backward {
  Passed<T> passed;
  const float *by_x, *rest;
  T* dx;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    const Normal<T>& normal = passed.normal;
    dx[i] = T(normal.slope[c] * passed(i, c) + by_x[c] * normal.centred(i, c) + rest[c]);
  }
};

class Plain final : public BatchNorm {
 public:
  explicit Plain(const BatchNormRequest& request)
      : r_(request),
        view_(channel_view(request.x)),
        parts_(channel_parts(request.x)),
        values_(double(std::max<int64_t>(1, parts_.n * parts_.inner))) {
    coefficients_ = scratch_.add(kCoefficients * r_.channels() * int64_t(sizeof(float)));
    sums_ = scratch_.add(parts_.bytes());
  }

  std::string name() const override { return "plain"; }
  int64_t forward_scratch() const override { return scratch_.bytes(); }
  int64_t backward_scratch() const override { return scratch_.bytes(); }
  bool dx_may_overwrite_dy() const override { return true; }

  void forward(Context& context, const BatchNormOperands& io) override {
    with_float_type(r_.x.dtype, [&](auto type) { forward_as<decltype(type)>(context, io); });
  }
  void backward(Context& context, const BatchNormOperands& io) override {
    with_float_type(r_.x.dtype, [&](auto type) { backward_as<decltype(type)>(context, io); });
  }

 private:
  Coefficients coefficients(void* scratch) const {
    float* first = static_cast<float*>(scratch_part(scratch, coefficients_));
    const int64_t c = r_.channels();
    return {first, first + c, first + 2 * c, first + 3 * c, first + 4 * c};
  }

  template <typename T>
  Normal<T> normal(Context& context, const BatchNormOperands& io, const Coefficients& k) const {
    for_each(context, r_.channels(), Slope{io.variance, io.gamma, r_.eps, k.slope});
    return {static_cast<const T*>(io.x), io.mean, k.slope, io.beta};
  }

  template <typename T>
  void set_statistics(Context& context, const BatchNormOperands& io, const Coefficients& k) const {
    if (parts_.n * parts_.inner == 0) return for_each(context, r_.channels(), Zero{io.mean, io.variance});
    const T* x = static_cast<const T*>(io.x);
    const int64_t stride = parts_.last ? 1 : parts_.inner;
    sum_channels(context, parts_, StatisticsTerm<T>{x, stride}, k.a, k.b, scratch_part(io.scratch, sums_));
    for_each(context, r_.channels(), Statistics<T>{x, stride, values_, k.a, k.b, io.mean, io.variance});
  }

  template <typename T>
  void forward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    if (!r_.given_statistics) set_statistics<T>(context, io, k);
    const Normal<T> n = normal<T>(context, io, k);
    for_each_channel(context, view_, Forward<T>{n, static_cast<T*>(io.y), r_.relu, r_.ceiling});
  }

  template <typename T>
  void backward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    const Passed<T> passed{normal<T>(context, io, k), static_cast<const T*>(io.dy), r_.relu, r_.ceiling};
    if (io.dgamma || io.dbeta || !r_.given_statistics)
      sum_channels(context, parts_, GradientTerm<T>{passed}, k.a, k.b, scratch_part(io.scratch, sums_));
    for_each(
        context, r_.channels(),
        Finish{k, io.variance, r_.eps, values_, r_.given_statistics, io.dgamma, io.dbeta, io.add_dgamma, io.add_dbeta});
    if (io.dx) for_each_channel(context, view_, Backward<T>{passed, k.by_x, k.rest, static_cast<T*>(io.dx)});
  }

  BatchNormRequest r_;
  ChannelView view_;
  ChannelParts parts_;
  double values_;  ///< of a channel
  ScratchLayout scratch_;
  int64_t coefficients_ = 0, sums_ = 0;
};

}  // namespace

std::unique_ptr<BatchNorm> make_batch_norm_plain(const BatchNormRequest& request, Context&, std::string& why) {
  if (request.x.layout == Layout::kBlocked16) return why = "blocks are for the CPU", nullptr;
  return std::make_unique<Plain>(request);
}

}  // namespace cortado::kernels
