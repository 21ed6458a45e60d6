#pragma once

// What batch normalisation does for each pack of values and for each channel (kernels/device/batch_norm_generic.cu has
// the formulas). Functors for the loops of core/for_each.h and terms for sum_packs(), for .cu files.

#include "kernels/device/channel_packs.h"
#include "kernels/post_ops.h"

namespace cortado::kernels::batch_norm {

/// Of each channel, in scratch, each array starting a pack: what x is multiplied with and the term behind, the factors
/// of dx, and (side by side, last) two sums.
struct Coefficients {
  float *slope, *beta, *by_x, *rest, *a, *b;
};

/// What a kernel moves that goes over so many numbers of each channel.
inline Traffic of_channels(int64_t channels, int64_t read, int64_t written) {
  return {channels * read * int64_t(sizeof(float)), channels * written * int64_t(sizeof(float))};
}

/// x, and what forward computes of it before an addend and the activation, for both directions alike.
template <typename T, int kWidth>
struct Normal {
  PackedChannels p;
  const T* x;
  const float *mean, *slope, *beta;

  /// Of the channels that a pack lies in.
  struct Of {
    Values<kWidth> mean, slope, beta;
  };
  CORTADO_HD Of of(int64_t c) const {
    return {p.template of_channels<kWidth>(mean, c), p.template of_channels<kWidth>(slope, c),
            p.template of_channels<kWidth>(beta, c)};
  }
  CORTADO_HD Values<kWidth> centred(const Of& k, int64_t pack) const {
    Values<kWidth> d = load_values<kWidth>(x + pack * kWidth);
    for (int i = 0; i < kWidth; ++i) d.v[i] -= k.mean.v[i];
    return d;
  }
  CORTADO_HD static float value(const Of& k, const Values<kWidth>& centred, int i) {
    return centred.v[i] * k.slope.v[i] + k.beta.v[i];
  }
};

/// g: dy, or 0 where the ReLU stopped it, which `mask` says or y; x where both are null.
template <typename T, int kWidth>
struct Passed {
  Normal<T, kWidth> normal;
  const T* dy;
  const uint8_t* mask;
  const T* y;
  Activation activation;

  /// With x.
  Traffic traffic(int64_t packs) const {
    const int64_t each = packs * kWidth * int64_t(sizeof(T));
    const int64_t told = !activation ? 0 : mask ? packs : y ? each : 0;
    return {2 * each + told, 0};
  }
  CORTADO_HD Values<kWidth> operator()(const typename Normal<T, kWidth>::Of& k, const Values<kWidth>& centred,
                                       int64_t pack) const {
    Values<kWidth> g = load_values<kWidth>(dy + pack * kWidth);
    if (activation.kind == Activation::kNone) return g;
    if (mask) {
      const unsigned bits = mask[pack];
      for (int i = 0; i < kWidth; ++i) g.v[i] = bits >> i & 1u ? g.v[i] : 0.0f;
      return g;
    }
    Values<kWidth> value = centred;
    if (y)
      value = load_values<kWidth>(y + pack * kWidth);
    else
      for (int i = 0; i < kWidth; ++i) value.v[i] = normal.value(k, centred, i);
    for (int i = 0; i < kWidth; ++i) g.v[i] = activation.passes(value.v[i]) ? g.v[i] : 0.0f;
    return g;
  }
};

template <typename T, int kWidth>
struct StatisticsTerm {
  PackedChannels p;
  const T* x;
  Traffic traffic(int64_t packs) const { return {packs * kWidth * int64_t(sizeof(T)), 0}; }
  CORTADO_HD Values<kWidth> of(int64_t c) const {
    if (p.last) return load_values<kWidth>(x + c);
    Values<kWidth> shift;
    for (int i = 0; i < kWidth; ++i) shift.v[i] = float(x[c * p.inner * kWidth]);
    return shift;
  }
  CORTADO_HD void add(const Values<kWidth>& shift, int64_t pack, Values<kWidth>& a, Values<kWidth>& b) const {
    const Values<kWidth> value = load_values<kWidth>(x + pack * kWidth);
    for (int i = 0; i < kWidth; ++i) {
      const float d = value.v[i] - shift.v[i];
      a.v[i] += d;
      b.v[i] += d * d;
    }
  }
};

/// The coefficients that both directions begin with.
struct Slope {
  const float *variance, *gamma, *beta;  ///< gamma and beta may be null
  float eps;
  Coefficients k;
  Traffic traffic(int64_t n) const { return of_channels(n, 1 + (gamma != nullptr) + (beta != nullptr), 2); }
  CORTADO_HD void operator()(int64_t c) const {
    k.slope[c] = (gamma ? gamma[c] : 1.0f) / sqrtf(variance[c] + eps);
    k.beta[c] = beta ? beta[c] : 0.0f;
  }
};

template <typename T>
struct Statistics {
  const T* x;
  int64_t stride;  ///< from channel to channel
  double values;
  float *mean, *variance;
  Slope slope;
  Traffic traffic(int64_t n) const {
    Traffic all = slope.traffic(n);
    return all += of_channels(n, 3, 2);
  }
  CORTADO_HD void operator()(int64_t c) const {
    const double d = double(slope.k.a[c]) / values, v = double(slope.k.b[c]) / values - d * d;
    mean[c] = float(double(float(x[c * stride])) + d);
    variance[c] = v < 0 ? 0.0f : float(v);
    slope(c);
  }
};

struct Zero {
  float *a, *b;
  CORTADO_HD void operator()(int64_t c) const { a[c] = b[c] = 0; }
};

template <typename T, int kWidth>
struct Forward {
  PackRuns runs;
  Normal<T, kWidth> normal;
  const T* addend;  ///< may be null
  T* y;
  uint8_t* mask;  ///< may be null
  Activation activation;

  Traffic traffic(int64_t) const {
    const int64_t packs = runs.p.packs(), each = packs * kWidth * int64_t(sizeof(T));
    return {(addend ? 2 : 1) * each, each + (mask ? packs : 0)};
  }
  CORTADO_HD void operator()(int64_t call) const {
    const PackRun run = runs(call);
    const auto k = normal.of(run.c);
    for (int64_t i = 0; i < run.count; ++i) make(k, run.pack + i * run.step);
  }

  CORTADO_HD void make(const typename Normal<T, kWidth>::Of& k, int64_t pack) const {
    const Values<kWidth> centred = normal.centred(k, pack);
    Values<kWidth> value;
    for (int i = 0; i < kWidth; ++i) value.v[i] = normal.value(k, centred, i);
    if (addend) {
      const Values<kWidth> more = load_values<kWidth>(addend + pack * kWidth);
      for (int i = 0; i < kWidth; ++i) value.v[i] += more.v[i];
    }
    if (activation.kind != Activation::kNone) activate(value, pack);
    store_values(y + pack * kWidth, value);
  }

  CORTADO_HD void activate(Values<kWidth>& value, int64_t pack) const {
    unsigned bits = 0;
    for (int i = 0; i < kWidth; ++i) {
      const float v = value.v[i];
      bits |= unsigned(activation.passes(v)) << i;
      value.v[i] = activation(v);
    }
    if (mask) mask[pack] = uint8_t(bits);
  }
};

/// Writes daddend besides.
template <typename T, int kWidth>
struct GradientTerm {
  Passed<T, kWidth> passed;
  T* daddend;  ///< null: not wanted, or there already
  Traffic traffic(int64_t packs) const {
    Traffic all = passed.traffic(packs);
    return all += {0, daddend ? packs * kWidth * int64_t(sizeof(T)) : 0};
  }
  CORTADO_HD auto of(int64_t c) const { return passed.normal.of(c); }
  CORTADO_HD void add(const typename Normal<T, kWidth>::Of& k, int64_t pack, Values<kWidth>& a,
                      Values<kWidth>& b) const {
    const Values<kWidth> centred = passed.normal.centred(k, pack), g = passed(k, centred, pack);
    if (daddend) store_values(daddend + pack * kWidth, g);
    for (int i = 0; i < kWidth; ++i) {
      a.v[i] += g.v[i];
      b.v[i] += g.v[i] * centred.v[i];
    }
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

  Traffic traffic(int64_t n) const { return of_channels(n, 4, 2 + (dgamma != nullptr) + (dbeta != nullptr)); }
  CORTADO_HD void operator()(int64_t c) const {
    const double inverse = 1 / sqrt(double(variance[c]) + double(eps));
    if (dgamma) dgamma[c] = float(double(k.b[c]) * inverse + (add_dgamma ? double(dgamma[c]) : 0.0));
    if (dbeta) dbeta[c] = float(double(k.a[c]) + (add_dbeta ? double(dbeta[c]) : 0.0));
    k.by_x[c] = given ? 0.0f : float(-double(k.slope[c]) * inverse * inverse * double(k.b[c]) / values);
    k.rest[c] = given ? 0.0f : float(-double(k.slope[c]) * double(k.a[c]) / values);
  }
};

template <typename T, int kWidth>
struct Backward {
  PackRuns runs;
  Passed<T, kWidth> passed;
  const float *by_x, *rest;
  T* dx;

  Traffic traffic(int64_t) const {
    const int64_t packs = runs.p.packs();
    Traffic all = passed.traffic(packs);
    return all += {0, packs * kWidth * int64_t(sizeof(T))};
  }
  CORTADO_HD void operator()(int64_t call) const {
    const PackRun run = runs(call);
    const auto k = passed.normal.of(run.c);
    const Values<kWidth> factor = runs.p.template of_channels<kWidth>(by_x, run.c),
                         term = runs.p.template of_channels<kWidth>(rest, run.c);
    for (int64_t r = 0; r < run.count; ++r) {
      const int64_t pack = run.pack + r * run.step;
      const Values<kWidth> centred = passed.normal.centred(k, pack), g = passed(k, centred, pack);
      Values<kWidth> result;
      for (int i = 0; i < kWidth; ++i) result.v[i] = k.slope.v[i] * g.v[i] + factor.v[i] * centred.v[i] + term.v[i];
      store_values(dx + pack * kWidth, result);
    }
  }
};

}  // namespace cortado::kernels::batch_norm
