#pragma once

// The rate of every iteration, by lr_policy:
//   fixed      base
//   step       base * gamma^floor(iter / stepsize)
//   exp        base * gamma^iter
//   inv        base * (1 + gamma * iter)^-power
//   multistep  base * gamma^(number of stepvalues passed)
//   poly       base * (1 - iter / max_iter)^power
//   sigmoid    base / (1 + e^(-gamma * (iter - stepsize)))
// Surprises, all Caffe's: multistep passes at most one stepvalue in an iteration, so where it stands is state; and
// sigmoid rises where gamma is positive. Poly past max_iter is 0 here and NaN in Caffe.

#include <cstdint>
#include <string>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado {

class LearningRate {
 public:
  /// Throws FieldError for an unknown policy and for missing or impossible options of a known one. `config` outlives
  /// this.
  explicit LearningRate(const caffe::SolverParameter& config);

  /// The rate of iteration `iter`; called once for each iteration, in order (multistep advances here).
  float next(int64_t iter);

  int current_step() const { return current_step_; }  ///< stepvalues or stepsizes passed so far
  void set_current_step(int step) { current_step_ = step; }

 private:
  const caffe::SolverParameter& config_;
  double (*policy_)(const caffe::SolverParameter& config, int64_t iter, int step);
  int current_step_ = 0;
};

std::vector<std::string> all_lr_policies();

}  // namespace cortado
