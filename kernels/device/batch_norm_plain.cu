// Batch normalisation from the loops of core/for_each.h alone. Statistics are sums over each channel's values in double:
// first the mean, then the squares of the distances to it. As in kernels/cpu/batch_norm_own.cc the ReLU needs no mask:
// backward repeats forward's arithmetic on x and looks at the sign, and with g = dy where it is positive
//     dbeta = sum g,  dgamma = sum g (x - mean) / std,  dx = gamma / std * (g - dbeta / m - (x - mean) / std * dgamma / m).

#include <cmath>

#include "core/for_each.h"
#include "core/half.h"
#include "kernels/batch_norm.h"

namespace cortado::kernels {
namespace {

/// Where the values of a channel lie: the j-th at j / run * stride + j % run * step.
struct Channels {
  int64_t channels, values, run, stride, step, offset;

  CORTADO_HD int64_t at(int64_t c, int64_t j) const { return c * offset + j / run * stride + j % run * step; }
};

Channels channels_of(const TensorSpec& x) {
  const int64_t n = x.shape[0], c = x.shape[1], inner = x.shape.count(2);
  if (x.layout == Layout::kChannelsLast) return {c, n * inner, inner, c * inner, c, 1};
  return {c, n * inner, inner, c * inner, 1, inner};
}

/// What a channel's values are multiplied with and moved by; in scratch, one of each for a channel.
struct Coefficients {
  float *slope, *sum_g, *sum_gx, *by_x, *rest;
};
constexpr int64_t kCoefficients = 5;

template <typename T>
struct MeanTerm {
  Channels channels;
  const T* x;
  CORTADO_HD double operator()(int64_t c, int64_t j) const {
    return double(float(x[channels.at(c, j)])) / double(channels.values);
  }
};

template <typename T>
struct VarianceTerm {
  Channels channels;
  const T* x;
  const float* mean;
  CORTADO_HD double operator()(int64_t c, int64_t j) const {
    const double d = double(float(x[channels.at(c, j)])) - double(mean[c]);
    return d * d / double(channels.values);
  }
};

struct Slope {
  const float *variance, *gamma;  ///< gamma may be null
  float eps;
  float* slope;
  CORTADO_HD void operator()(int64_t c) const { slope[c] = (gamma ? gamma[c] : 1.0f) / sqrtf(variance[c] + eps); }
};

/// What forward computes before the ReLU, for both directions alike.
template <typename T>
struct Normal {
  const T* x;
  const float *mean, *slope, *beta;  ///< beta may be null
  CORTADO_HD float centred(int64_t i, int64_t c) const { return float(x[i]) - mean[c]; }
  CORTADO_HD float value(int64_t i, int64_t c) const { return centred(i, c) * slope[c] + (beta ? beta[c] : 0.0f); }
};

template <typename T>
struct Forward {
  Normal<T> normal;
  T* y;
  bool relu;
  CORTADO_HD void operator()(int64_t i, int64_t c) const {
    const float value = normal.value(i, c);
    y[i] = T(relu && value < 0 ? 0.0f : value);
  }
};

/// dy, or 0 where the ReLU stopped x.
template <typename T>
struct Passed {
  Normal<T> normal;
  const T* dy;
  bool relu;
  CORTADO_HD float operator()(int64_t i, int64_t c) const {
    return relu && !(normal.value(i, c) > 0) ? 0.0f : float(dy[i]);
  }
};

template <typename T>
struct GradientTerm {
  Channels channels;
  Passed<T> passed;
  bool by_x;  ///< g (x - mean), else g
  CORTADO_HD float operator()(int64_t c, int64_t j) const {
    const int64_t i = channels.at(c, j);
    return by_x ? passed(i, c) * passed.normal.centred(i, c) : passed(i, c);
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
    if (dgamma) dgamma[c] = float(double(k.sum_gx[c]) * inverse + (add_dgamma ? double(dgamma[c]) : 0.0));
    if (dbeta) dbeta[c] = float(double(k.sum_g[c]) + (add_dbeta ? double(dbeta[c]) : 0.0));
    k.by_x[c] = given ? 0.0f : float(-double(k.slope[c]) * inverse * inverse * double(k.sum_gx[c]) / values);
    k.rest[c] = given ? 0.0f : float(-double(k.slope[c]) * double(k.sum_g[c]) / values);
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
      : r_(request), view_(channel_view(request.x)), channels_(channels_of(request.x)) {}

  std::string name() const override { return "plain"; }
  int64_t forward_scratch() const override { return kCoefficients * r_.channels() * int64_t(sizeof(float)); }
  int64_t backward_scratch() const override { return forward_scratch(); }
  bool dx_may_overwrite_dy() const override { return true; }

  void forward(Context& context, const BatchNormOperands& io) override {
    with_float_type(r_.x.dtype, [&](auto type) { forward_as<decltype(type)>(context, io); });
  }
  void backward(Context& context, const BatchNormOperands& io) override {
    with_float_type(r_.x.dtype, [&](auto type) { backward_as<decltype(type)>(context, io); });
  }

 private:
  Coefficients coefficients(void* scratch) const {
    float* first = static_cast<float*>(scratch);
    const int64_t c = r_.channels();
    return {first, first + c, first + 2 * c, first + 3 * c, first + 4 * c};
  }

  template <typename T>
  Normal<T> normal(Context& context, const BatchNormOperands& io, const Coefficients& k) const {
    for_each(context, r_.channels(), Slope{io.variance, io.gamma, r_.eps, k.slope});
    return {static_cast<const T*>(io.x), io.mean, k.slope, io.beta};
  }

  template <typename T>
  void forward_as(Context& context, const BatchNormOperands& io) {
    const T* x = static_cast<const T*>(io.x);
    if (!r_.given_statistics) {
      reduce_rows(context, r_.channels(), channels_.values, MeanTerm<T>{channels_, x}, io.mean);
      reduce_rows(context, r_.channels(), channels_.values, VarianceTerm<T>{channels_, x, io.mean}, io.variance);
    }
    const Normal<T> n = normal<T>(context, io, coefficients(io.scratch));
    for_each_channel(context, view_, Forward<T>{n, static_cast<T*>(io.y), r_.relu});
  }

  template <typename T>
  void backward_as(Context& context, const BatchNormOperands& io) {
    const Coefficients k = coefficients(io.scratch);
    const Passed<T> passed{normal<T>(context, io, k), static_cast<const T*>(io.dy), r_.relu};
    const int64_t values = io.dgamma || io.dbeta || !r_.given_statistics ? channels_.values : 0;
    reduce_rows(context, r_.channels(), values, GradientTerm<T>{channels_, passed, false}, k.sum_g);
    reduce_rows(context, r_.channels(), values, GradientTerm<T>{channels_, passed, true}, k.sum_gx);
    const double m = double(channels_.values > 0 ? channels_.values : 1);
    for_each(context, r_.channels(),
             Finish{k, io.variance, r_.eps, m, r_.given_statistics, io.dgamma, io.dbeta, io.add_dgamma, io.add_dbeta});
    if (io.dx) for_each_channel(context, view_, Backward<T>{passed, k.by_x, k.rest, static_cast<T*>(io.dx)});
  }

  BatchNormRequest r_;
  ChannelView view_;
  Channels channels_;
};

}  // namespace

std::unique_ptr<BatchNorm> make_batch_norm_plain(const BatchNormRequest& request, Context&, std::string& why) {
  if (request.x.layout == Layout::kBlocked16) return why = "blocks are for the CPU", nullptr;
  return std::make_unique<Plain>(request);
}

}  // namespace cortado::kernels
