#pragma once

// The rates of an iteration. The learning rate is the warm-up's at first, then lr_policy's (solvers/lr_policies.h), and
// never less than min_lr.
//   warmup_iter      start + (base - start) * (iter / warmup_iter)^power; power is 1 but for warmup_policy "poly"
//   rampup_interval  the same from rampup_lr, with power 2 (NVIDIA)
// The warm-up replaces the first iterations of a policy, which counts from 0 all the same; cosine alone starts behind
// it. Surprise, Caffe's: multistep passes at most one stepvalue in an iteration, and none in a warm-up, so where it
// stands is state.
//
// With NVIDIA's policies momentum and decay change, too.
//   momentum_policy      fixed; poly: m + (max - m) (iter / max_iter)^power; opt: (1 - sqrt(rate) / 2)^2, at most
//                        max_momentum where that is given
//   weight_decay_policy  fixed; poly: d (iter / max_iter)^power, or from d to max_weight_decay where that is given

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "solvers/lr_policies.h"
#include "solvers/update_rule.h"

namespace cortado {

/// lr_policy plateau: the rate drops by gamma when a value has not got less for plateau_winsize[k] iterations, k the
/// drops so far; after the last of them it stays. As in Intel's program the value is the smoothed training loss
/// (average_loss), and a drop counts as an event like a gain: the next window starts there. With plateau_metric it is a
/// test score.
class Plateau {
 public:
  Plateau() = default;
  explicit Plateau(const caffe::SolverParameter& config)
      : windows_(config.plateau_winsize().begin(), config.plateau_winsize().end()),
        min_delta_(config.plateau_min_delta()) {}

  /// A value at iteration `iter`, where less is better.
  void see(double value, int64_t iter) {
    if (!(float(value) < least_ - min_delta_)) return;
    least_ = float(value);
    last_event_ = iter;
  }

  /// Whether the rate drops at `iter`, having dropped `drops` times; to be asked once for each iteration, in order.
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

/// The first iterations' rate: from `first` to `base`.
struct WarmUp {
  int iterations = 0;  ///< 0: there is none
  double first = 0, base = 0, power = 1;
};
/// Throws FieldError where it cannot be as the options say.
WarmUp warm_up_of(const caffe::SolverParameter& config);

class LearningRate {
 public:
  LearningRate() = default;
  /// Throws FieldError for an unknown policy and for missing or impossible options of a known one or of the warm-up.
  explicit LearningRate(const caffe::SolverParameter& config);

  /// Whether next() looks at the loss.
  bool wants_loss() const { return is_plateau() && !sees_scores_; }

  /// The rate of iteration `iter`; called once for each iteration, in order (multistep and plateau advance here).
  /// `loss`: smoothed, with that of this iteration; only if wants_loss().
  float next(int64_t iter, double loss = 0);
  /// The value of plateau_metric before iteration `iter`, its sign such that less is better.
  void see_score(double value, int64_t iter) { plateau_.see(value, iter); }

  int current_step() const { return current_step_; }  ///< stepvalues or stepsizes passed so far, or drops of plateau
  void set_current_step(int step) { current_step_ = step < 0 ? 0 : step; }  // a file may say anything
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
/// Throw FieldError where the policy is unknown or lacks something.
MomentumPolicy momentum_policy_of(const caffe::SolverParameter& config);
WeightDecayPolicy weight_decay_policy_of(const caffe::SolverParameter& config);

class Schedule {
 public:
  Schedule() = default;
  /// Throws FieldError as its parts do.
  explicit Schedule(const caffe::SolverParameter& config)
      : rate_(config), momentum_(momentum_policy_of(config)), weight_decay_(weight_decay_policy_of(config)) {}

  /// As LearningRate::next().
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
