#pragma once

// The per-pack and per-channel functors of batch normalization (formulas: kernels/device/batch_norm_generic.cu), for
// the loops of core/loops/for_each.h, sum_shares() and finish_channels(). For .cu files. Multiply-adds round once,
// on every device.

#include "kernels/device/channel_pair_sums.h"
#include "kernels/post_ops.h"
#include "kernels/running_average.h"

namespace cortado::kernels::batch_norm {

/// Per-channel coefficients in scratch, in arrays aligned for packs: the factor of x and the offset, and the
/// coefficients of dx.
struct Coefficients {
  float *slope, *beta, *by_x, *rest;
};

/// The traffic of a kernel that reads and writes `read` and `written` numbers per channel.
inline Traffic of_channels(int64_t channels, int64_t read, int64_t written) {
  return {channels * read * int64_t(sizeof(float)), channels * written * int64_t(sizeof(float))};
}

/// The factor of x in a channel, and the offset.
struct Affine {
  const float *variance, *gamma, *beta;  ///< gamma and beta may be null
  float eps;
  CORTADO_HD float slope(int64_t c) const { return (gamma ? gamma[c] : 1.0f) / sqrtf(variance[c] + eps); }
  CORTADO_HD float term(int64_t c) const { return beta ? beta[c] : 0.0f; }
};

/// x, and its normalized value before addend and activation; used by both directions.
template <typename T, int kWidth>
struct Normal {
  PackedChannels p;
  const T* x;
  const float *mean, *slope, *beta;

  /// Coefficients of a pack's channels.
  struct Of {
    Values<kWidth> mean, slope, beta;
  };
  CORTADO_HD Of of(int64_t c) const {
    return {p.template of_channels<kWidth>(mean, c), p.template of_channels<kWidth>(slope, c),
            p.template of_channels<kWidth>(beta, c)};
  }
  /// Like of(), computed from the weights before the slopes are written.
  CORTADO_HD Of of(int64_t c, const Affine& affine) const {
    Of k;
    for (int i = 0; i < kWidth; ++i) {
      const int64_t channel = p.last ? c + i : c;
      k.mean.v[i] = mean[channel];
      k.slope.v[i] = affine.slope(channel);
      k.beta.v[i] = affine.term(channel);
    }
    return k;
  }
  CORTADO_HD RawValues<T, kWidth> load(int64_t pack) const { return load_raw<kWidth>(x + pack * kWidth); }
  CORTADO_HD static Values<kWidth> centred(const Of& k, const RawValues<T, kWidth>& x) {
    Values<kWidth> d = x.floats();
    for (int i = 0; i < kWidth; ++i) d.v[i] -= k.mean.v[i];
    return d;
  }
  CORTADO_HD static float value(const Of& k, const Values<kWidth>& centred, int i) {
    return fmaf(centred.v[i], k.slope.v[i], k.beta.v[i]);
  }
};

/// g: dy + more, or 0 where the ReLU stopped it, according to `mask`, or to x without a mask.
template <typename T, int kWidth>
struct Passed {
  Normal<T, kWidth> normal;
  const T* dy;
  const T* more = nullptr;  ///< may be null
  const uint8_t* mask = nullptr;
  Activation activation = {};

  struct Loaded {
    RawValues<T, kWidth> x, dy, more;
    unsigned mask;
  };

  /// Includes x.
  Traffic traffic(int64_t packs) const {
    const int64_t each = packs * kWidth * int64_t(sizeof(T));
    return {(more ? 3 : 2) * each + (activation && mask ? packs : 0), 0};
  }
  CORTADO_HD Loaded load(int64_t pack) const {
    Loaded loaded{normal.load(pack), load_raw<kWidth>(dy + pack * kWidth), {}, 0};
    if (more) loaded.more = load_raw<kWidth>(more + pack * kWidth);
    if (mask && activation.kind != Activation::kNone) loaded.mask = mask[pack];
    return loaded;
  }
  CORTADO_HD Values<kWidth> operator()(const typename Normal<T, kWidth>::Of& k, const Values<kWidth>& centred,
                                       const Loaded& loaded) const {
    Values<kWidth> g = loaded.dy.floats();
    if (more) {
      const Values<kWidth> second = loaded.more.floats();
      for (int i = 0; i < kWidth; ++i) g.v[i] += second.v[i];
    }
    if (activation.kind == Activation::kNone) return g;
    for (int i = 0; i < kWidth; ++i) {
      const bool passes = mask ? loaded.mask >> i & 1u : activation.passes(normal.value(k, centred, i));
      g.v[i] = passes ? g.v[i] : 0.0f;
    }
    return g;
  }
};

template <typename T, int kWidth>
struct StatisticsTerm {
  PackedChannels p;
  const T* x;

  using Loaded = RawValues<T, kWidth>;

  Traffic traffic(int64_t packs) const { return {packs * kWidth * int64_t(sizeof(T)), 0}; }
  CORTADO_HD Values<kWidth> of(int64_t c) const {
    if (p.last) return load_values<kWidth>(x + c);
    Values<kWidth> shift;
    for (int i = 0; i < kWidth; ++i) shift.v[i] = float(x[c * p.inner * kWidth]);
    return shift;
  }
  CORTADO_HD Loaded load(int64_t pack) const { return load_raw<kWidth>(x + pack * kWidth); }
  CORTADO_HD void add(const Values<kWidth>& shift, const Loaded& loaded, int64_t, Values<kWidth>& a,
                      Values<kWidth>& b) const {
    const Values<kWidth> value = loaded.floats();
    for (int i = 0; i < kWidth; ++i) {
      const float d = value.v[i] - shift.v[i];
      a.v[i] += d;
      b.v[i] = fmaf(d, d, b.v[i]);
    }
  }
};

/// The coefficients of forward if the statistics are given.
struct Prepare {
  Affine affine;
  Coefficients k;
  Traffic traffic(int64_t n) const { return of_channels(n, 3, 2); }
  CORTADO_HD void operator()(int64_t c) const {
    k.slope[c] = affine.slope(c);
    k.beta[c] = affine.term(c);
  }
};

/// Computes a channel's statistics from its sums, and everything that depends on them.
template <typename T>
struct Statistics {
  const T* shift;  ///< of the first channel; null: the sums are not shifted
  int64_t stride;  ///< between channels
  double values;
  float *mean, *variance;
  RunningAverage average;  ///< may be empty
  Prepare prepare;

  Traffic traffic(int64_t n) const {
    Traffic all = prepare.traffic(n);
    return all += of_channels(n, average ? 3 : 1, average ? 4 : 2);
  }
  CORTADO_HD void operator()(int64_t c, double a, double b) const {
    const double d = a / values, v = b / values - d * d;
    mean[c] = float((shift ? double(float(shift[c * stride])) : 0.0) + d);
    variance[c] = v < 0 ? 0.0f : float(v);
    if (average) average.add(c, mean[c], variance[c]);
    prepare(c);
  }
};

/// Like Statistics, for given sums, in a loop over the channels.
template <typename T>
struct GivenSums {
  const float* sums;  ///< 2 x channels
  int64_t channels;
  Statistics<T> statistics;

  Traffic traffic(int64_t n) const {
    Traffic all = statistics.traffic(n);
    return all += of_channels(n, 2, 0);
  }
  CORTADO_HD void operator()(int64_t c) const { statistics(c, double(sums[c]), double(sums[channels + c])); }
};

/// Writes the map with which a reader of x computes y: (x - mean) slope + beta = x slope + (beta - mean slope).
struct LeaveMap {
  Coefficients k;
  const float* mean;
  float* map;  ///< 2 x channels
  int64_t channels;

  Traffic traffic(int64_t n) const { return of_channels(n, 3, 2); }
  CORTADO_HD void operator()(int64_t c) const {
    map[c] = k.slope[c];
    map[channels + c] = float(double(k.beta[c]) - double(mean[c]) * double(k.slope[c]));
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
  const T* addend;   ///< may be null
  const float* map;  ///< of the addend, 2 x channels; may be null
  T* y;
  uint8_t* mask;  ///< may be null
  Activation activation;

  /// Coefficients of a pack's channels.
  struct Map {
    Values<kWidth> factor, term;
  };

  Traffic traffic(int64_t) const {
    const int64_t packs = runs.p.packs(), each = packs * kWidth * int64_t(sizeof(T));
    return {(addend ? 2 : 1) * each, each + (mask ? packs : 0)};
  }
  CORTADO_HD void operator()(int64_t call) const {
    const PackRun run = runs(call);
    const auto k = normal.of(run.c);
    const Map of_addend = map ? map_of(run.c) : Map{};
    for (int64_t i = 0; i < run.count; ++i) make(k, of_addend, run.pack + i * run.step);
  }

  CORTADO_HD Map map_of(int64_t c) const {
    const PackedChannels& p = runs.p;
    return {p.template of_channels<kWidth>(map, c), p.template of_channels<kWidth>(map + p.channels, c)};
  }

  CORTADO_HD void make(const typename Normal<T, kWidth>::Of& k, const Map& of_addend, int64_t pack) const {
    const Values<kWidth> centred = normal.centred(k, normal.load(pack));
    Values<kWidth> value;
    for (int i = 0; i < kWidth; ++i) value.v[i] = normal.value(k, centred, i);
    if (addend) {
      const Values<kWidth> more = load_values<kWidth>(addend + pack * kWidth);
      for (int i = 0; i < kWidth; ++i)
        value.v[i] += map ? fmaf(more.v[i], of_addend.factor.v[i], of_addend.term.v[i]) : more.v[i];
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

/// Also writes daddend.
template <typename T, int kWidth>
struct GradientTerm {
  Passed<T, kWidth> passed;
  Affine affine;
  T* daddend;  ///< null: not requested, or already written

  using Loaded = typename Passed<T, kWidth>::Loaded;

  Traffic traffic(int64_t packs) const {
    Traffic all = passed.traffic(packs);
    return all += {0, daddend ? packs * kWidth * int64_t(sizeof(T)) : 0};
  }
  CORTADO_HD auto of(int64_t c) const { return passed.normal.of(c, affine); }
  CORTADO_HD Loaded load(int64_t pack) const { return passed.load(pack); }
  CORTADO_HD void add(const typename Normal<T, kWidth>::Of& k, const Loaded& loaded, int64_t pack, Values<kWidth>& a,
                      Values<kWidth>& b) const {
    const Values<kWidth> centred = passed.normal.centred(k, loaded.x), g = passed(k, centred, loaded);
    if (daddend) store_values(daddend + pack * kWidth, g);
    for (int i = 0; i < kWidth; ++i) {
      a.v[i] += g.v[i];
      b.v[i] = fmaf(g.v[i], centred.v[i], b.v[i]);
    }
  }
};

/// Computes a channel's gradients from its sums, and the coefficients of dx = slope g + by_x (x - mean) + rest.
struct Finish {
  Prepare prepare;
  double values;
  bool given;
  float *dgamma, *dbeta;  ///< may be null
  bool add_dgamma, add_dbeta;

  Traffic traffic(int64_t n) const { return of_channels(n, 3, 4 + (dgamma != nullptr) + (dbeta != nullptr)); }
  CORTADO_HD void operator()(int64_t c, double a, double b) const {
    prepare(c);
    const Coefficients& k = prepare.k;
    const double inverse = 1 / sqrt(double(prepare.affine.variance[c]) + double(prepare.affine.eps));
    if (dgamma) dgamma[c] = float(b * inverse + (add_dgamma ? double(dgamma[c]) : 0.0));
    if (dbeta) dbeta[c] = float(a + (add_dbeta ? double(dbeta[c]) : 0.0));
    k.by_x[c] = given ? 0.0f : float(-double(k.slope[c]) * inverse * inverse * b / values);
    k.rest[c] = given ? 0.0f : float(-double(k.slope[c]) * a / values);
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
      const auto loaded = passed.load(pack);
      const Values<kWidth> centred = passed.normal.centred(k, loaded.x), g = passed(k, centred, loaded);
      Values<kWidth> result;
      for (int i = 0; i < kWidth; ++i)
        result.v[i] = fmaf(k.slope.v[i], g.v[i], fmaf(factor.v[i], centred.v[i], term.v[i]));
      store_values(dx + pack * kWidth, result);
    }
  }
};

}  // namespace cortado::kernels::batch_norm
