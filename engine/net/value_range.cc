#include "net/value_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cortado {

void ValueRange::add(const float* values, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(values[i]));
    negative_ = negative_ || values[i] < 0;
  }
  count_ += count;
  if (!std::isfinite(largest) || largest == 0) {
    zeros_ += count;
    return;
  }
  widen(largest);
  largest_ = std::max(largest_, largest);
  for (int64_t i = 0; i < count; ++i) {
    const float magnitude = std::abs(values[i]);
    if (magnitude > 0)
      ++bins_[size_t(std::min(kBins - 1, int(magnitude / width_)))];
    else
      ++zeros_;
  }
}

void ValueRange::widen(float magnitude) {
  if (width_ == 0) width_ = magnitude / kBins;
  while (magnitude > width_ * kBins) {
    for (size_t i = 0; i < kBins / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + kBins / 2, bins_.end(), 0);
    width_ *= 2;
  }
}

float ValueRange::bound(const RangeRule& rule, int levels) const {
  if (width_ == 0) return 0;
  switch (rule.kind) {
    case RangeRule::kLargest:
      return largest_;
    case RangeRule::kPercentile:
      return percentile(rule.percentile);
    case RangeRule::kDivergence:
      return least_divergence(levels);
  }
  return largest_;
}

float ValueRange::percentile(double percent) const {
  const double within = percent / 100 * double(count_);
  double seen = double(zeros_);
  for (int i = 0; i < kBins; ++i) {
    seen += double(bins_[size_t(i)]);
    if (seen >= within) return std::min(largest_, width_ * float(i + 1));
  }
  return largest_;
}

float ValueRange::least_divergence(int levels) const {
  constexpr int kStep = 16;            // bins; finer steps do not change the result noticeably
  constexpr double kMaxCutOff = 99.9;  // percent kept at least: for many equal values (at a ReLU6's 6), divergence
                                       // alone would cut them off rather than let them share a level
  int best = kBins;
  double least = std::numeric_limits<double>::infinity();
  for (int bins = std::max(levels, int(percentile(kMaxCutOff) / width_)); bins <= kBins; bins += kStep)
    if (const double now = divergence(bins, levels); now < least) least = now, best = bins;
  return std::min(largest_, width_ * float(best));
}

/// Kullback-Leibler divergence of the distribution clipped to its first `bins` bins from its quantization to `levels`
/// levels. The values of a level are spread evenly over those of its bins that are not empty.
double ValueRange::divergence(int bins, int levels) const {
  double beyond = 0, all = 0;
  for (int i = bins; i < kBins; ++i) beyond += double(bins_[size_t(i)]);
  for (const int64_t bin : bins_) all += double(bin);
  double sum = 0;
  for (int level = 0; level < levels; ++level) {
    const int begin = int(int64_t(level) * bins / levels), end = int(int64_t(level + 1) * bins / levels);
    double inside = 0;
    int used = 0;
    for (int i = begin; i < end; ++i) inside += double(bins_[size_t(i)]), used += bins_[size_t(i)] > 0;
    for (int i = begin; i < end; ++i) {
      const double p = (double(bins_[size_t(i)]) + (i == bins - 1 ? beyond : 0)) / all;
      if (p <= 0) continue;
      if (inside == 0) return std::numeric_limits<double>::infinity();
      sum += p * std::log(p / (inside / used / (all - beyond)));
    }
  }
  return sum;
}

}  // namespace cortado
