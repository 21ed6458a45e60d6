#pragma once

// The rates of an iteration: the learning rate (solvers/learning_rate.h), and with NVIDIA's policies momentum and
// decay.
//   momentum_policy      fixed; poly: m + (max - m) (iter / max_iter)^power; opt: (1 - sqrt(rate) / 2)^2, at most
//                        max_momentum where that is given
//   weight_decay_policy  fixed; poly: d (iter / max_iter)^power, or from d to max_weight_decay where that is given

#include "solvers/learning_rate.h"
#include "solvers/update_rule.h"

namespace cortado {

class Schedule {
 public:
  /// As LearningRate; throws FieldError also for the other two policies.
  explicit Schedule(const caffe::SolverParameter& config);

  /// As LearningRate::next().
  StepRates next(int64_t iter, double loss = 0);

  LearningRate& rate() { return rate_; }

 private:
  const caffe::SolverParameter& config_;
  LearningRate rate_;
};

/// The rates without any policy, at this learning rate.
StepRates fixed_rates(const caffe::SolverParameter& config, float rate);

/// Throw FieldError where the policy is unknown or lacks something.
void check_momentum_policy(const caffe::SolverParameter& config);
void check_weight_decay_policy(const caffe::SolverParameter& config);

}  // namespace cortado
