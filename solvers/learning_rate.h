#pragma once

// The rate of every iteration: the warm-up at first, then lr_policy (solvers/lr_policies.h), and never less than
// min_lr.
//   warmup_iter      start + (base - start) * (iter / warmup_iter)^power; power is 1 but for warmup_policy "poly"
//   rampup_interval  the same from rampup_lr, with power 2 (NVIDIA)
// The warm-up replaces the first iterations of a policy, which counts from 0 all the same; cosine alone starts behind
// it. Surprise, Caffe's: multistep passes at most one stepvalue in an iteration, and none in a warm-up, so where it
// stands is state.

#include <cstdint>

#include "solvers/lr_policies.h"
#include "solvers/plateau.h"

namespace cortado {

class LearningRate {
 public:
  /// Throws FieldError for an unknown policy and for missing or impossible options of a known one. `config` outlives
  /// this.
  explicit LearningRate(const caffe::SolverParameter& config);

  /// Whether next() looks at the loss.
  bool wants_loss() const { return is_plateau_ && config_.plateau_metric().empty(); }
  /// The test score that see_score() wants; "": none.
  const std::string& metric() const { return config_.plateau_metric(); }

  /// The rate of iteration `iter`; called once for each iteration, in order (multistep and plateau advance here).
  /// `loss`: smoothed, with that of this iteration; only if wants_loss().
  float next(int64_t iter, double loss = 0);
  /// The metric's value before iteration `iter`, its sign such that less is better.
  void see_score(double value, int64_t iter) { plateau_.see(value, iter); }

  int current_step() const { return current_step_; }  ///< stepvalues or stepsizes passed so far, or drops of plateau
  void set_current_step(int step) { current_step_ = step < 0 ? 0 : step; }  // a file may say anything
  bool is_plateau() const { return is_plateau_; }
  Plateau& plateau() { return plateau_; }

 private:
  void advance(int64_t iter, double loss);

  const caffe::SolverParameter& config_;
  const LrPolicy& policy_;
  bool is_plateau_;
  Plateau plateau_;
  int current_step_ = 0;
};

/// Throws FieldError where the warm-up or min_lr cannot be as the options say.
void check_warmup(const caffe::SolverParameter& config);

}  // namespace cortado
