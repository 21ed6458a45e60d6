// Batch normalisation of our own. A group is what one thread does alone: sixteen channels where sixteen neighbours in
// memory are channels (blocked16, channels-last, N x C), else one channel. Statistics and result of a group follow
// each other while it is still in the cache, so memory is read once and written once, and threads meet once.
//
//   forward   mean and variance from sums of x - shift and its square, where shift, the channel's first value, keeps
//             the sums small
//   backward  with g = dy where the ReLU let it pass:  dbeta = sum g,  dgamma = sum g (x - mean) / std,
//             dx = gamma / std * (g - dbeta / m - (x - mean) / std * dgamma / m)       (m values per channel)
//
// Its one surprise: the ReLU needs no mask. Backward repeats forward's arithmetic on x, to the bit, and looks at the
// sign. Sums of one sample are 32-bit, the sum of samples is double and in order: the number of threads does not
// change a bit.

#include <cmath>

#include "core/threads.h"
#include "kernels/batch_norm.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/lanes.h"

namespace cortado::kernels {
namespace {

/// Where the runs of contiguous floats of each (sample, group) lie.
struct Runs {
  int64_t samples, groups, sample_stride, group_stride, length, channels;
  bool lanes_are_channels;  ///< else all floats of a run are of one channel
  int64_t stored_channels;

  int64_t offset(int64_t sample, int64_t group) const { return sample * sample_stride + group * group_stride; }
  int width(int64_t group) const { return int(std::min<int64_t>(kLanes, channels - group * kLanes)); }
  /// Floats in one run; the last group of unpadded storage is narrower.
  int64_t run(int64_t group) const {
    return lanes_are_channels && length == kLanes ? std::min<int64_t>(length, stored_channels - group * kLanes)
                                                  : length;
  }

  Lanes of_group(const float* per_channel, int64_t group, float otherwise = 0) const {
    if (!per_channel) return spread(otherwise);
    return lanes_are_channels ? load_some(per_channel + group * kLanes, width(group)) : spread(per_channel[group]);
  }
  void set_group(float* per_channel, int64_t group, const Lanes& value) const {
    if (lanes_are_channels)
      store_some(per_channel + group * kLanes, value, width(group));
    else
      per_channel[group] = value[0];
  }
};

Runs runs_of(const TensorSpec& spec) {
  const int64_t n = spec.shape[0], c = spec.shape[1], inner = spec.shape.count(2), blocks = (c + kLanes - 1) / kLanes;
  if (spec.layout == Layout::kBlocked16)
    return {n, blocks, blocks * kLanes * inner, kLanes * inner, kLanes * inner, c, true, blocks * kLanes};
  if (spec.layout == Layout::kChannelsLast || inner == 1) return {n * inner, blocks, c, kLanes, kLanes, c, true, c};
  return {n, c, c * inner, inner, inner, c, false, c};
}

/// Two sums per lane.
struct Sums {
  double a[kLanes] = {}, b[kLanes] = {};
  void add(const Sums& other) {
    for (int i = 0; i < kLanes; ++i) a[i] += other.a[i], b[i] += other.b[i];
  }
  void add(const Lanes& more_a, const Lanes& more_b) {
    for (int i = 0; i < kLanes; ++i) a[i] += double(more_a[i]), b[i] += double(more_b[i]);
  }
  /// One channel in all lanes: its sums are the sums over lanes.
  void join_lanes() {
    for (double* sums : {a, b}) {
      double total = 0;
      for (int i = 0; i < kLanes; ++i) total += sums[i];
      for (int i = 0; i < kLanes; ++i) sums[i] = total;
    }
  }
};

/// Adds, over `length` floats, the two Lanes that term(i, load) gives for the floats from i on; `load(p)` reads
/// floats of an operand there, or of sixteen coefficients, as zeros past the end.
template <typename Term>
void sum_run(int64_t length, const Term& term, Sums& sums) {
  Lanes a[4] = {}, b[4] = {};
  const auto whole = [](const float* p) { return load(p); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= length; i += 4 * kLanes)
    for (int u = 0; u < 4; ++u) term(i + u * kLanes, whole, a[u], b[u]);
  for (; i + kLanes <= length; i += kLanes) term(i, whole, a[0], b[0]);
  if (i < length) {
    const int n = int(length - i);
    term(
        i, [n](const float* p) { return load_some(p, n); }, a[0], b[0]);
  }
  sums.add((a[0] + a[1]) + (a[2] + a[3]), (b[0] + b[1]) + (b[2] + b[3]));
}

/// y[i...] = value(i, load) over `length` floats.
template <bool streaming, typename Value>
void map_run(int64_t length, float* y, const Value& value) {
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    const Lanes v = value(i, [](const float* p) { return load(p); });
    if constexpr (streaming)
      stream(y + i, v);
    else
      store(y + i, v);
  }
  if (i < length) {
    const int n = int(length - i);
    store_some(y + i, value(i, [n](const float* p) { return load_some(p, n); }), n);
  }
}

/// For every group: sum(group, sample, sums) over its samples, finish(group, sums), then map(group, sample) over its
/// samples. Either each thread takes whole groups, or, when there are few, all threads share the samples of all
/// groups.
class TwoPasses {
 public:
  TwoPasses(const Runs& runs, int threads)
      : runs_(runs), whole_groups_(runs.groups >= 4 * threads || runs.groups % threads == 0 || runs.length == kLanes) {}

  int64_t scratch() const { return whole_groups_ ? 0 : runs_.samples * runs_.groups * int64_t(sizeof(Sums)); }

  template <typename Sum, typename Finish, typename Map>
  void run(Context& context, void* scratch, const Sum& sum, const Finish& finish, const Map& map) const {
    const int64_t samples = runs_.samples, groups = runs_.groups;
    if (whole_groups_) {
      parallel_ranges(context, groups, 1, [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end; ++g) {
          Sums total;
          for (int64_t n = 0; n < samples; ++n) sum(g, n, total);
          finish(g, total);
          for (int64_t n = samples - 1; n >= 0; --n) map(g, n);  // the last one read is the likeliest in the cache
        }
      });
      return;
    }
    Sums* parts = static_cast<Sums*>(scratch);
    parallel_ranges(context, samples * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum(i % groups, i / groups, parts[i] = Sums());
    });
    for (int64_t g = 0; g < groups; ++g) {
      Sums total;
      for (int64_t n = 0; n < samples; ++n) total.add(parts[n * groups + g]);
      finish(g, total);
    }
    parallel_ranges(context, samples * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) map(i % groups, i / groups);
    });
  }

 private:
  Runs runs_;
  bool whole_groups_;
};

class Own final : public BatchNorm {
 public:
  Own(const BatchNormRequest& request, int threads)
      : request_(request),
        runs_(runs_of(request.x)),
        passes_(runs_, threads),
        count_(double(std::max<int64_t>(1, request.x.shape[0] * request.x.shape.count(2)))),
        // Results past the second-level caches are written around them: no read of what is overwritten.
        streaming_(request.x.bytes() > (int64_t(4) << 20) && runs_.length % kLanes == 0 && runs_.length > kLanes) {}

  std::string name() const override { return "own"; }
  int64_t forward_scratch() const override { return scratch_sums() + 3 * group_bytes(); }
  int64_t backward_scratch() const override { return scratch_sums() + 3 * group_bytes(); }
  bool dx_may_overwrite_dy() const override { return true; }

  void forward(Context& context, const BatchNormOperands& io) override {
    if (runs_.samples * runs_.length == 0) return set_empty(io);
    const bool streaming = streams(io.x, io.y);
    if (request_.relu)
      streaming ? forward_as<true, true>(context, io) : forward_as<true, false>(context, io);
    else
      streaming ? forward_as<false, true>(context, io) : forward_as<false, false>(context, io);
  }
  void backward(Context& context, const BatchNormOperands& io) override {
    const bool streaming = streams(io.dy, io.dx);
    if (request_.relu)
      streaming ? backward_as<true, true>(context, io) : backward_as<true, false>(context, io);
    else
      streaming ? backward_as<false, true>(context, io) : backward_as<false, false>(context, io);
  }

 private:
  int64_t group_bytes() const { return runs_.groups * int64_t(sizeof(Lanes)); }
  int64_t scratch_sums() const { return (passes_.scratch() + 63) / 64 * 64; }

  /// Whether a result may be written around the caches: never over what was just read.
  bool streams(const void* from, const void* to) const {
    return streaming_ && from != to && reinterpret_cast<uintptr_t>(to) % sizeof(Lanes) == 0;
  }

  void set_empty(const BatchNormOperands& io) const {
    if (request_.given_statistics) return;
    std::fill_n(io.mean, runs_.channels, 0.0f);
    std::fill_n(io.variance, runs_.channels, 0.0f);
  }

  /// gamma / std of a group; 0 in padding lanes, so that what they hold stays 0.
  Lanes slope(const BatchNormOperands& io, int64_t g) const {
    float a[kLanes], gamma[kLanes];
    store(a, runs_.of_group(io.variance, g));
    store(gamma, runs_.of_group(io.gamma, g, 1));
    const int width = runs_.lanes_are_channels ? runs_.width(g) : kLanes;
    for (int i = 0; i < kLanes; ++i) a[i] = i < width ? gamma[i] / std::sqrt(a[i] + request_.eps) : 0;
    return load(a);
  }

  /// The mean and variance of a group from sums of (x - shift) and its square.
  void set_statistics(const BatchNormOperands& io, int64_t g, Sums sums) const {
    if (!runs_.lanes_are_channels) sums.join_lanes();
    const Lanes shift = shift_of(io, g);
    float mean[kLanes], variance[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const double d = sums.a[i] / count_;
      mean[i] = float(double(shift[i]) + d);
      variance[i] = float(std::max(0.0, sums.b[i] / count_ - d * d));
      if (sums.b[i] != sums.b[i]) variance[i] = float(sums.b[i]);  // NaN must not hide behind max()
    }
    runs_.set_group(io.mean, g, load(mean));
    runs_.set_group(io.variance, g, load(variance));
  }

  Lanes shift_of(const BatchNormOperands& io, int64_t g) const {
    const float* first = floats(io.x) + runs_.offset(0, g);
    return runs_.lanes_are_channels ? load_some(first, runs_.width(g)) : spread(first[0]);
  }

  template <bool relu, bool streaming>
  void forward_as(Context& context, const BatchNormOperands& io) {
    const auto sum = [&](int64_t g, int64_t n, Sums& sums) {
      if (request_.given_statistics) return;
      const float* x = floats(io.x) + runs_.offset(n, g);
      const Lanes first = shift_of(io, g);
      alignas(64) float shift[kLanes];
      store(shift, first);
      sum_run(
          runs_.run(g),
          [&](int64_t i, const auto& load, Lanes& a, Lanes& b) {
            const Lanes d = load(x + i) - load(shift);
            a += d;
            b += d * d;
          },
          sums);
    };
    const auto finish = [&](int64_t g, const Sums& sums) {
      if (!request_.given_statistics) set_statistics(io, g, sums);
    };
    const auto map = [&](int64_t g, int64_t n) {
      const Lanes mean = runs_.of_group(io.mean, g), a = slope(io, g), beta = runs_.of_group(io.beta, g);
      const Lanes ceiling = spread(request_.ceiling);
      const float* x = floats(io.x) + runs_.offset(n, g);
      map_run<streaming>(runs_.run(g), floats(io.y) + runs_.offset(n, g), [&](int64_t i, const auto& load) {
        const Lanes v = (load(x + i) - mean) * a + beta;
        return relu ? smaller(v < 0 ? Lanes{} : v, ceiling) : v;
      });
    };
    passes_.run(context, io.scratch, sum, finish, map);
  }

  /// dy, or 0 where the ReLU stopped x.
  template <bool relu>
  static Lanes passed(const Lanes& dy, const Lanes& centred, const Lanes& a, const Lanes& beta, const Lanes& ceiling) {
    if (!relu) return dy;
    const Lanes v = centred * a + beta;
    return (v > 0) & (v < ceiling) ? dy : Lanes{};
  }

  void add_to(float* result, bool add, int64_t g, Lanes value) const {
    if (!result) return;
    if (add) value += runs_.of_group(result, g);
    runs_.set_group(result, g, value);
  }

  template <bool relu, bool streaming>
  void backward_as(Context& context, const BatchNormOperands& io) {
    const bool sums_wanted = io.dgamma || io.dbeta || !request_.given_statistics;
    Lanes* by_x = static_cast<Lanes*>(scratch_at(io.scratch, 0));  // dx = a g + by_x (x - mean) + rest
    Lanes* rest = static_cast<Lanes*>(scratch_at(io.scratch, 1));
    const auto sum = [&](int64_t g, int64_t n, Sums& sums) {
      if (!sums_wanted) return;
      const float *x = floats(io.x) + runs_.offset(n, g), *dy = floats(io.dy) + runs_.offset(n, g);
      alignas(64) float mean[kLanes];
      store(mean, runs_.of_group(io.mean, g));
      const Lanes a = slope(io, g), beta = runs_.of_group(io.beta, g), ceiling = spread(request_.ceiling);
      sum_run(
          runs_.run(g),
          [&](int64_t i, const auto& load, Lanes& sum_g, Lanes& sum_gx) {
            const Lanes centred = load(x + i) - load(mean);
            const Lanes passing = passed<relu>(load(dy + i), centred, a, beta, ceiling);
            sum_g += passing;
            sum_gx += passing * centred;
          },
          sums);
    };
    const auto finish = [&](int64_t g, Sums sums) {
      if (!runs_.lanes_are_channels) sums.join_lanes();
      const Lanes a = slope(io, g), variance = runs_.of_group(io.variance, g);
      Lanes dgamma{}, dbeta{};
      for (int i = 0; i < kLanes; ++i) {
        const double inverse = 1 / std::sqrt(double(variance[i]) + double(request_.eps));
        dgamma[i] = float(sums.b[i] * inverse);
        dbeta[i] = float(sums.a[i]);
        by_x[g][i] = request_.given_statistics ? 0 : float(-double(a[i]) * inverse * inverse * sums.b[i] / count_);
        rest[g][i] = request_.given_statistics ? 0 : float(-double(a[i]) * sums.a[i] / count_);
      }
      add_to(io.dgamma, io.add_dgamma, g, dgamma);
      add_to(io.dbeta, io.add_dbeta, g, dbeta);
    };
    const auto map = [&](int64_t g, int64_t n) {
      if (!io.dx) return;
      const float *x = floats(io.x) + runs_.offset(n, g), *dy = floats(io.dy) + runs_.offset(n, g);
      const Lanes a = slope(io, g), mean = runs_.of_group(io.mean, g), beta = runs_.of_group(io.beta, g);
      const Lanes slope_x = by_x[g], constant = rest[g], ceiling = spread(request_.ceiling);
      map_run<streaming>(runs_.run(g), floats(io.dx) + runs_.offset(n, g), [&](int64_t i, const auto& load) {
        const Lanes centred = load(x + i) - mean;
        return a * passed<relu>(load(dy + i), centred, a, beta, ceiling) + slope_x * centred + constant;
      });
    };
    passes_.run(context, io.scratch, sum, finish, map);
  }

  void* scratch_at(void* scratch, int64_t part) const {
    return static_cast<std::byte*>(scratch) + scratch_sums() + part * group_bytes();
  }

  BatchNormRequest request_;
  Runs runs_;
  TwoPasses passes_;
  double count_;
  bool streaming_;
};

}  // namespace

std::unique_ptr<BatchNorm> make_batch_norm_own(const BatchNormRequest& request, Context& context, std::string& why) {
  if (!takes(request.x.dtype, why)) return nullptr;
  return std::make_unique<Own>(request, context.threads);
}

}  // namespace cortado::kernels
