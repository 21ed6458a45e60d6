#pragma once

// Iteration of batch normalization over a tensor on the CPU. A group is the unit of work of a thread: 16 channels if
// channels are adjacent in memory (blocked16, channels-last, N x C), else one channel. In each sample a group has one
// run of contiguous values, 32-bit floats or bfloat16.

#include <algorithm>

#include "core/tensor.h"
#include "core/threads/threads.h"
#include "kernels/cpu/bfloat16.h"

namespace cortado::kernels {

/// The positions of the runs of each (sample, group).
struct Runs {
  int64_t samples, groups, sample_stride, group_stride, length, channels;
  bool lanes_are_channels;  ///< else all values of a run belong to one channel
  int64_t stored_channels;

  int64_t offset(int64_t sample, int64_t group) const { return sample * sample_stride + group * group_stride; }
  int width(int64_t group) const { return int(std::min<int64_t>(kLanes, channels - group * kLanes)); }
  /// The number of values in a run; the last group of unpadded storage is narrower.
  int64_t run(int64_t group) const {
    return lanes_are_channels && length == kLanes ? std::min<int64_t>(length, stored_channels - group * kLanes)
                                                  : length;
  }
  /// Index of the first mask word of a run; a word has 16 bits.
  int64_t words(int64_t sample, int64_t group) const { return (sample * groups + group) * words_of_run(); }
  int64_t words_of_run() const { return (length + kLanes - 1) / kLanes; }

  Vec16f of_group(const float* per_channel, int64_t group, float otherwise = 0) const {
    if (!per_channel) return spread(otherwise);
    return lanes_are_channels ? load_some(per_channel + group * kLanes, width(group)) : spread(per_channel[group]);
  }
  void set_group(float* per_channel, int64_t group, const Vec16f& value) const {
    if (lanes_are_channels)
      store_some(per_channel + group * kLanes, value, width(group));
    else
      per_channel[group] = lanes_of(value)[0];
  }
};

inline Runs runs_of(const TensorSpec& spec) {
  const int64_t n = spec.shape[0], c = spec.shape[1], inner = spec.shape.count(2), blocks = (c + kLanes - 1) / kLanes;
  if (spec.layout == Layout::kBlocked16)
    return {n, blocks, blocks * kLanes * inner, kLanes * inner, kLanes * inner, c, true, blocks * kLanes};
  if (spec.layout == Layout::kChannelsLast || inner == 1) return {n * inner, blocks, c, kLanes, kLanes, c, true, c};
  return {n, c, c * inner, inner, inner, c, false, c};
}

struct Sums {
  double a[kLanes] = {}, b[kLanes] = {};
  void add(const Sums& other) {
    for (int i = 0; i < kLanes; ++i) a[i] += other.a[i], b[i] += other.b[i];
  }
  void add(const Vec16f& more_a, const Vec16f& more_b) {
    const Lanes of_a = lanes_of(more_a), of_b = lanes_of(more_b);
    for (int i = 0; i < kLanes; ++i) a[i] += double(of_a[i]), b[i] += double(of_b[i]);
  }
  /// For groups of one channel: sums over the lanes.
  void join_lanes() {
    for (double* sums : {a, b}) {
      double total = 0;
      for (int i = 0; i < kLanes; ++i) total += sums[i];
      for (int i = 0; i < kLanes; ++i) sums[i] = total;
    }
  }
};

/// Access to 16 values of a run, or to its remainder.
struct Whole {
  template <typename T>
  Vec16f load(const T* p) const {
    return kernels::load(p);
  }
  template <typename T>
  void store(T* p, const Vec16f& v) const {
    kernels::store(p, v);
  }
};
struct Rest {
  int n;
  template <typename T>
  Vec16f load(const T* p) const {
    return load_some(p, n);
  }
  template <typename T>
  void store(T* p, const Vec16f& v) const {
    store_some(p, v, n);
  }
};

/// Sums term(i, at), two Vec16f for the values from i on, over `length` values. `at.load(p)` reads 16 values or
/// coefficients, as zeros past the end.
template <typename Term>
void sum_run(int64_t length, const Term& term, Sums& sums) {
  Vec16f a[4] = {}, b[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= length; i += 4 * kLanes)
    for (int u = 0; u < 4; ++u) term(i + u * kLanes, Whole(), a[u], b[u]);
  for (; i + kLanes <= length; i += kLanes) term(i, Whole(), a[0], b[0]);
  if (i < length) term(i, Rest{int(length - i)}, a[0], b[0]);
  sums.add((a[0] + a[1]) + (a[2] + a[3]), (b[0] + b[1]) + (b[2] + b[3]));
}

/// Sets y[i...] = value(i, at) over `length` values.
template <bool streaming, typename T, typename Value>
void map_run(int64_t length, T* y, const Value& value) {
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    const Vec16f v = value(i, Whole());
    if constexpr (streaming)
      stream(y + i, v);
    else
      store(y + i, v);
  }
  if (i < length) {
    const Rest rest{int(length - i)};
    rest.store(y + i, value(i, rest));
  }
}

/// For every group: sum(group, sample, sums) over its samples, finish(group, sums), then map(group, sample) over its
/// samples. A piece of work has whole groups; if there are too few groups, some samples of all.
class TwoPasses {
 public:
  TwoPasses(const Runs& runs, int pieces)
      : runs_(runs), whole_groups_(runs.groups >= pieces / 2 || runs.length == kLanes) {}

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
          for (int64_t n = samples - 1; n >= 0; --n) map(g, n);  // in reverse, because the last ones are still cached
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

}  // namespace cortado::kernels
