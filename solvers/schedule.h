#pragma once

// The rates of an iteration. The learning rate starts with the warm-up, then follows lr_policy (solvers/lr_policies.h).
// It is never less than min_lr.
//   warmup_iter      start + (base - start) * (iter / warmup_iter)^power; power is 1 but for warmup_policy "poly"
//   rampup_interval  the same from rampup_lr, with power 2 (NVIDIA)
// The warm-up replaces the first iterations of a policy, which still counts from 0; only cosine starts after it. Note:
// as in Caffe, multistep passes at most one stepvalue in an iteration and none in a warm-up. So its current step is
// part of the state.
//
// NVIDIA's policies also change momentum and weight decay.
//   momentum_policy      fixed; poly: m + (max - m) (iter / max_iter)^power; opt: (1 - sqrt(rate) / 2)^2, at most
//                        max_momentum if that is set
//   weight_decay_policy  fixed; poly: d (iter / max_iter)^power, or from d to max_weight_decay if that is set

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "solvers/lr_policies.h"
#include "solvers/update_rule.h"

namespace cortado {

/// lr_policy plateau: the rate drops by gamma when a value has not improved for plateau_winsize[k] iterations, k being
/// the number of drops so far. After the last of them the rate is constant. As in Intel's program the value is the
/// smoothed training loss (average_loss), and a drop also starts a new window, like an improvement. With plateau_metric
/// the value is a test score.
class Plateau {
 public:
  Plateau() = default;
  explicit Plateau(const caffe::SolverParameter& config)
      : windows_(config.plateau_winsize().begin(), config.plateau_winsize().end()),
        min_delta_(config.plateau_min_delta()) {}

  /// Adds a value at iteration `iter`; lower is better.
  void see(double value, int64_t iter) {
    if (!(float(value) < least_ - min_delta_)) return;
    least_ = float(value);
    last_event_ = iter;
  }

  /// Whether the rate drops at `iter` after `drops` earlier drops. Call it once for each iteration, in order.
  bool drops_at(int64_t iter, int drops) {
    if (size_t(drops) >= windows_.size() || iter < last_event_ + windows_[size_t(drops)]) return false;
    last_event_ = iter;
    return true;
  }

  float least() const { return least_; }
  int64_t last_event() const { return last_event_; }
  void restore(float least, int64_t last_event) {
    least_ = least;
    last_event_ = last_event;
  }

 private:
  std::vector<int> windows_;
  float min_delta_ = 0;
  float least_ = std::numeric_limits<float>::max();
  int64_t last_event_ = 0;
};

/// The rate of the first iterations: from `first` to `base`.
struct WarmUp {
  int iterations = 0;  ///< 0: no warm-up
  double first = 0, base = 0, power = 1;
};
/// Throws FieldError if options contradict each other or are out of range.
WarmUp warm_up_of(const caffe::SolverParameter& config);

class LearningRate {
 public:
  LearningRate() = default;
  /// Throws FieldError for an unknown policy, and for missing or invalid options of the policy or the warm-up.
  explicit LearningRate(const caffe::SolverParameter& config);

  /// Whether next() needs the loss.
  bool wants_loss() const { return is_plateau() && !sees_scores_; }

  /// The rate of iteration `iter`. Call it once for each iteration, in order (multistep and plateau advance here).
  /// `loss`: the smoothed loss including this iteration's, only if wants_loss().
  float next(int64_t iter, double loss = 0);
  /// Adds the value of plateau_metric before iteration `iter`, with the sign such that lower is better.
  void see_score(double value, int64_t iter) { plateau_.see(value, iter); }

  int current_step() const { return current_step_; }  ///< stepvalues or stepsizes passed so far, or drops of plateau
  void set_current_step(int step) { current_step_ = step < 0 ? 0 : step; }  // a file may contain any value
  bool is_plateau() const { return policy_.steps == Steps::kDrops; }
  Plateau& plateau() { return plateau_; }

 private:
  void advance(int64_t iter, double loss);

  LrPolicy policy_;
  WarmUp warm_up_;
  Plateau plateau_;
  std::vector<int64_t> stepvalues_;
  int stepsize_ = 0;
  float min_lr_ = 0;
  bool sees_scores_ = false;
  int current_step_ = 0;
};

using MomentumPolicy = std::function<float(int64_t iter, float rate)>;
using WeightDecayPolicy = std::function<float(int64_t iter)>;
/// Throw FieldError if the policy is unknown or lacks an option.
MomentumPolicy momentum_policy_of(const caffe::SolverParameter& config);
WeightDecayPolicy weight_decay_policy_of(const caffe::SolverParameter& config);

class Schedule {
 public:
  Schedule() = default;
  /// Throws FieldError like the constructors of its parts.
  explicit Schedule(const caffe::SolverParameter& config)
      : rate_(config), momentum_(momentum_policy_of(config)), weight_decay_(weight_decay_policy_of(config)) {}

  /// See LearningRate::next().
  StepRates next(int64_t iter, double loss = 0) {
    const float rate = rate_.next(iter, loss);
    return {rate, momentum_(iter, rate), weight_decay_(iter)};
  }

  LearningRate& rate() { return rate_; }

 private:
  LearningRate rate_;
  MomentumPolicy momentum_;
  WeightDecayPolicy weight_decay_;
};

}  // namespace cortado
