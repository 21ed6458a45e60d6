#pragma once

// Decisions from test scores: early_stop and keep_best.

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "proto/cortado.pb.h"
#include "solvers/observer.h"

namespace cortado {

/// Counts consecutive tests without an improvement.
class EarlyStop {
 public:
  EarlyStop(const caffe::EarlyStopParameter& options, TestScore score);

  /// Adds the value of one test, perhaps of the starting weights. Returns whether it is an improvement.
  bool see(double value, bool at_start = false);
  bool is_over() const { return without_gain_ >= options_.patience(); }
  const TestScore& score() const { return score_; }
  /// The best value, if it is that of the starting weights.
  std::optional<double> best_at_start() const { return any_ && at_start_ ? std::optional(best_) : std::nullopt; }

  void save(caffe::TrainingState& training) const;
  void load(const caffe::TrainingState& training);

 private:
  caffe::EarlyStopParameter options_;
  TestScore score_;
  bool any_ = false;
  bool at_start_ = false;  ///< best_ is of the starting weights; false after a resume
  double best_ = 0;
  int without_gain_ = 0;
};

/// The best value of keep_best's score and its iteration. Only iterations of which a snapshot can exist count.
class KeptBest {
 public:
  explicit KeptBest(TestScore score) : score_(std::move(score)) {}

  /// Adds the value of one test. Returns whether it is better than all before. The value before the first update does
  /// not count.
  bool see(double value, int64_t iter) {
    if (iter <= 0 || std::isnan(value)) return false;
    if (iter_ >= 0 && !is_better(score_.lower_is_better, value, value_)) return false;
    value_ = value;
    iter_ = iter;
    return true;
  }
  const TestScore& score() const { return score_; }
  int64_t iter() const { return iter_; }  ///< -1: no test yet

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
  TestScore score_;
  double value_ = 0;
  int64_t iter_ = -1;
};

}  // namespace cortado
