#pragma once

// The range of a tensor's values, from which the scale for 8-bit integers is chosen.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado {

/// How a range is chosen: all values, a percentile of them, or the range with the least Kullback-Leibler divergence
/// between the integers' distribution and the values', which cuts off at most one value in a thousand.
struct RangeRule {
  enum Kind { kLargest, kPercentile, kDivergence } kind = kPercentile;
  double percentile = 99.99;
};

/// A histogram of magnitudes. Its bins double in width when a value exceeds the last.
class ValueRange {
 public:
  void add(const float* values, int64_t count);

  bool has_negative() const { return negative_; }
  /// The magnitude that maps to the largest of `levels` integers above 0; 0 if all values are 0.
  float bound(const RangeRule& rule, int levels) const;

 private:
  static constexpr int kBins = 4096;
  void widen(float magnitude);
  float percentile(double percent) const;
  float least_divergence(int levels) const;
  double divergence(int bins, int levels) const;

  std::vector<int64_t> bins_ = std::vector<int64_t>(kBins, 0);
  float width_ = 0;  ///< of a bin; 0: no value above 0 so far
  float largest_ = 0;
  int64_t zeros_ = 0, count_ = 0;
  bool negative_ = false;
};

}  // namespace cortado
