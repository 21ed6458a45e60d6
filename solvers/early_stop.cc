#include "solvers/early_stop.h"

#include <cmath>

namespace cortado {

EarlyStop::EarlyStop(const caffe::EarlyStopParameter& options, TestScore score)
    : options_(options), score_(std::move(score)) {}

bool EarlyStop::see(double value, bool at_start) {
  const double gain = score_.lower_is_better ? best_ - value : value - best_;
  if (std::isnan(value) || (any_ && !(gain > options_.min_delta()))) {
    ++without_gain_;
    return false;
  }
  any_ = true;
  at_start_ = at_start;
  best_ = value;
  without_gain_ = 0;
  return true;
}

void EarlyStop::save(caffe::TrainingState& training) const {
  if (any_) training.set_early_stop_best(best_);
  training.set_tests_without_gain(without_gain_);
}

void EarlyStop::load(const caffe::TrainingState& training) {
  any_ = training.has_early_stop_best();
  best_ = training.early_stop_best();
  without_gain_ = training.tests_without_gain();
}

}  // namespace cortado
