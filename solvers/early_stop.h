#pragma once

// Decisions from test scores: early_stop, and the metrics of lr_policy plateau and keep_best. A score has the name of
// its output blob, with a prefix for all but the first test net: "#1 accuracy".

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "net/net.h"
#include "proto/cortado.pb.h"
#include "solvers/observer.h"

namespace cortado {

/// Whether lower is better: for the tops of loss layers, and for names that say so.
bool is_cost(const Score& score);
bool is_cost(const NetOutput& output);

/// One score of the tests.
struct Metric {
  size_t net = 0, output = 0;  ///< index of the test net, and of the score in its list
  std::string name;            ///< as in BestTestScore
  bool higher_is_better = true;
};

/// Finds the score in the test nets' outputs; "" means the only one. Throws FieldError about `field`.
Metric find_metric(const std::vector<const std::vector<NetOutput>*>& tests, const std::string& name,
                   const std::string& field);

/// Counts consecutive tests without an improvement.
class EarlyStop {
 public:
  EarlyStop(const caffe::EarlyStopParameter& options, Metric metric);

  /// Adds the value of one test. Returns whether it is an improvement.
  bool see(double value);
  bool is_over() const { return without_gain_ >= options_.patience(); }
  const Metric& metric() const { return metric_; }

  void save(caffe::TrainingState& training) const;
  void load(const caffe::TrainingState& training);

 private:
  caffe::EarlyStopParameter options_;
  Metric metric_;
  bool any_ = false;
  double best_ = 0;
  int without_gain_ = 0;
};

/// The best value of keep_best's score and its iteration. Only iterations of which a snapshot can exist count.
class KeptBest {
 public:
  explicit KeptBest(Metric metric) : metric_(std::move(metric)) {}

  /// Adds the value of one test. Returns whether it is better than all before. The value before the first update does
  /// not count.
  bool see(double value, int64_t iter) {
    const bool better = metric_.higher_is_better ? value > value_ : value < value_;
    if (iter <= 0 || std::isnan(value) || (iter_ >= 0 && !better)) return false;
    value_ = value;
    iter_ = iter;
    return true;
  }
  const Metric& metric() const { return metric_; }
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
  Metric metric_;
  double value_ = 0;
  int64_t iter_ = -1;
};

}  // namespace cortado
