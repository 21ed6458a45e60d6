#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "solvers/early_stop.h"

namespace cortado {

/// The score of keep_best: when it was best, of iterations that a snapshot can be of.
class KeptBest {
 public:
  explicit KeptBest(Metric metric) : metric_(std::move(metric)) {}

  /// One test's value. Returns whether it is better than all before. What a training starts from does not count.
  bool see(double value, int64_t iter) {
    const bool better = metric_.higher_is_better ? value > value_ : value < value_;
    if (iter <= 0 || std::isnan(value) || (iter_ >= 0 && !better)) return false;
    value_ = value;
    iter_ = iter;
    return true;
  }
  const Metric& metric() const { return metric_; }
  int64_t iter() const { return iter_; }  ///< -1: there was no test yet

  void save(caffe::TrainingState& training) const {
    if (iter_ < 0) return;
    training.set_keep_best_value(value_);
    training.set_keep_best_iter(iter_);
  }
  void load(const caffe::TrainingState& training) {
    iter_ = training.has_keep_best_iter() ? training.keep_best_iter() : -1;
    value_ = training.keep_best_value();
  }

 private:
  Metric metric_;
  double value_ = 0;
  int64_t iter_ = -1;
};

}  // namespace cortado
