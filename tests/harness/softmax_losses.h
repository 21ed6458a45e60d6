#pragma once

// Shared parts of the references for losses with a softmax: the probabilities of each of the outer x inner rows of x,
// outer x classes x inner, and the normalizer of the sum of the rows' losses. In double precision.

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {

/// The normalizer: all rows, rows that are not ignored, the outer extent, 1, or 5.
enum class By { kAll, kCounted, kOuter, kOne, kFive };

class SoftmaxRowsOf {
 public:
  SoftmaxRowsOf(const Array& x, int axis)
      : outer_(x.shape.count(0, axis)),
        classes_(x.shape[axis]),
        inner_(x.shape.count(axis + 1)),
        p_(softmax(x, axis)) {}

  int64_t rows() const { return outer_ * inner_; }
  int64_t classes() const { return classes_; }
  size_t at(int64_t r, int64_t c) const { return size_t((r / inner_ * classes_ + c) * inner_ + r % inner_); }
  double p(int64_t r, int64_t c) const { return p_[at(r, c)]; }
  const Array& all() const { return p_; }

  double divisor(By by, double counted) const {
    switch (by) {
      case By::kAll:
        return double(rows());
      case By::kCounted:
        return counted;
      case By::kOuter:
        return double(outer_);
      case By::kOne:
        return 1;
      case By::kFive:
        return 5;
    }
    return 1;
  }
  /// The loss and p. The normalizer is at least 1.
  Arrays mean(double loss, By by, double counted) const {
    return {Array(Shape(), loss / std::max(1.0, divisor(by, counted))), p_};
  }

 private:
  int64_t outer_, classes_, inner_;
  Array p_;
};

}  // namespace cortado::harness
