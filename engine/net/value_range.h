#pragma once

// How large the values of a tensor become, for the choice of a scale that turns them into 8-bit integers.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado {

/// What a range is to hold: all values, a share of them, or so many that the integers' distribution is as near to the
/// values' as can be (least Kullback-Leibler divergence), but at most one in a thousand is cut off.
struct RangeRule {
  enum Kind { kLargest, kPercentile, kDivergence } kind = kPercentile;
  double percentile = 99.99;
};

/// A histogram of magnitudes whose bins double in width whenever a value is beyond the last.
class ValueRange {
 public:
  void add(const float* values, int64_t count);

  bool has_negative() const { return negative_; }
  /// The magnitude that is to become the largest of `levels` integers above 0; 0 where all values are 0.
  float bound(const RangeRule& rule, int levels) const;

 private:
  static constexpr int kBins = 4096;
  void widen(float magnitude);
  float percentile(double percent) const;
  float least_divergence(int levels) const;
  double divergence(int bins, int levels) const;

  std::vector<int64_t> bins_ = std::vector<int64_t>(kBins, 0);
  float width_ = 0;  ///< of a bin; 0: all values so far are 0
  float largest_ = 0;
  int64_t zeros_ = 0, count_ = 0;
  bool negative_ = false;
};

}  // namespace cortado
