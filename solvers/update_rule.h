#pragma once

// Update rules by name. A rule's own file in solvers/rules/ registers it; there is no list to edit.
// A rule goes over memory once: the gradient is scaled, decayed and used, and history and weight are written, in one
// loop; over one weight, or over all weights of a net on a device. Rules whose rate depends on norms of whole weights
// go over each weight once more before.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/half.h"
#include "core/host_device.h"
#include "core/loops/divisor.h"
#include "proto/cortado.pb.h"

namespace cortado {

constexpr int kMaxHistories = 2, kMaxSums = 4;

/// What a rule wants to know of a whole weight, such as the sum of its squares.
struct WeightSums {
  double of[kMaxSums];
  CORTADO_HD WeightSums& operator+=(const WeightSums& more) {
    for (int k = 0; k < kMaxSums; ++k) of[k] += more.of[k];
    return *this;
  }
};

/// What the schedules say of one iteration.
struct StepRates {
  float rate = 0, momentum = 0, weight_decay = 0;
};

/// What a rule makes of running means that began at zero, after so many updates: factors.
struct Correction {
  double rate = 1;             ///< of the rate, for rules that correct it alone
  float mean = 1, square = 1;  ///< of the mean of the gradients, of their squares
};

/// One weight, and what an iteration does to it, as rules see it on any device.
struct WeightStep {
  float* w = nullptr;
  const float* dw = nullptr;
  float* history[kMaxHistories] = {};
  float* memory = nullptr;  ///< one float of this weight's, for rules that remember a number; may be null
  int64_t count = 0;        ///< floats in w, dw and each history, stored alike
  int64_t iter = 0;         ///< updates made before this one
  float rate = 0;           ///< of the policy, times lr_mult, times the rule's correction
  float policy_rate = 0;    ///< of the policy alone
  float momentum = 0;
  float weight_decay = 0;  ///< of the policy, without decay_mult
  Correction correction = {};
  float gradient_scale =
      1;                 ///< turns the accumulated dw into the gradient: 1 / iter_size, times what clipping asks for
  float l2 = 0, l1 = 0;  ///< weight decay times decay_mult, as the one or the other

  /// The gradient that nearly every rule starts from.
  CORTADO_HD float gradient(int64_t i) const { return dw[i] * gradient_scale + l2 * w[i] + l1 * sign_of(w[i]); }
  /// Its two parts, for rules that keep them apart.
  CORTADO_HD float plain_gradient(int64_t i) const { return dw[i] * gradient_scale; }
  CORTADO_HD float decay(int64_t i) const { return l2 * w[i] + l1 * sign_of(w[i]); }

  CORTADO_HD static float sign_of(float value) { return float(value > 0) - float(value < 0); }
};

/// What is the same for all weights in one iteration; on a device it lies in the device's memory.
struct IterationStep {
  StepRates rates = {};
  Correction correction = {};
  int64_t iter = 0;
  float gradient_scale = 1;
  int32_t skip = 0;  ///< not 0: nothing is updated

  /// The step of a table's entry, whose rate is lr_mult and whose l2 or l1 is decay_mult.
  CORTADO_HD WeightStep of(WeightStep entry) const {
    entry.rate = float(double(rates.rate * entry.rate) * correction.rate);
    entry.policy_rate = rates.rate;
    entry.momentum = rates.momentum;
    entry.weight_decay = rates.weight_decay;
    entry.l2 *= rates.weight_decay;
    entry.l1 *= rates.weight_decay;
    entry.correction = correction;
    entry.gradient_scale = gradient_scale;
    entry.iter = iter;
    return entry;
  }
};

/// A weight in 16 bits beside its floats, the order K x taps x C of K x C x taps, or the same.
struct UpdatedCopy {
  void* to = nullptr;  ///< null: there is none
  bool bfloat = false;
  Divisor c = Divisor(1), taps = Divisor(1);  ///< 1 where the order is the same

  CORTADO_HD void put(int64_t i, float value) const {
    const int64_t row = taps.of(i), filter = c.of(row), channel = row - filter * c.value();
    const int64_t at = (filter * taps.value() + i - row * taps.value()) * c.value() + channel;
    if (bfloat)
      static_cast<BFloat16*>(to)[at] = BFloat16(value);
    else
      static_cast<Half*>(to)[at] = Half(value);
  }
};

/// Weights of a net on one device: everything lies in the device's memory. The entries are as IterationStep::of() takes
/// them.
struct WeightTable {
  const WeightStep* weights = nullptr;
  const struct Piece* pieces = nullptr;  ///< those of one weight stand together
  const int64_t* first_piece = nullptr;  ///< per weight, and the end
  WeightSums* sums = nullptr;            ///< per piece: scratch
  float* rates = nullptr;                ///< per weight: scratch
  int64_t weight_count = 0, count = 0;   ///< of weights, of pieces
  int64_t values = 0;                    ///< in all weights
  int histories = 0;                     ///< of each of them
  const UpdatedCopy* copies = nullptr;   ///< per weight
  int64_t copied = 0;                    ///< bytes in all copies
};

/// A rule with the options of one training.
class UpdateRule {
 public:
  UpdateRule(const std::string& name, int histories, bool layer_wise)
      : name(name), histories(histories), layer_wise(layer_wise) {}
  virtual ~UpdateRule() = default;

  const std::string name;  ///< as `type` spells it
  const int histories;     ///< how many floats it keeps for each weight, all zero at first
  const bool layer_wise;   ///< the rate depends on whole weights; else an element's update depends on nothing beside it

  /// After `iter` updates.
  virtual Correction correction(int64_t iter) const = 0;
  /// One weight on the CPU. `scratch`: sum_of_squares_scratch(on.count) of them.
  virtual void update(Context& context, const WeightStep& on, WeightSums* scratch) const = 0;
  /// All weights of a table; `step` lies in the device's memory.
  virtual void update_all(Context& context, const WeightTable& on, const IterationStep* step) const = 0;
};

/// How many floats of scratch a weight of `count` elements wants for sums over its pieces.
int64_t sum_of_squares_scratch(int64_t count);
/// The sum of x[i]^2: partial sums in double over pieces of a fixed size, so the result does not depend on threads.
double sum_of_squares(Context& context, const float* x, int64_t count, float* scratch);

/// The rule that `type` names. Throws FieldError where there is none, or for options that it cannot work with.
std::shared_ptr<const UpdateRule> make_update_rule(const caffe::SolverParameter& config);
std::vector<std::string> all_update_rules();  ///< sorted

/// Put one at namespace scope in the rule's file (solvers/rule_of.h). `make` throws FieldError.
struct RegisterUpdateRule {
  using Make = std::shared_ptr<const UpdateRule> (*)(const caffe::SolverParameter& config);
  RegisterUpdateRule(const std::string& name, Make make);
};

/// For rules without a velocity: throws FieldError unless momentum is 0.
void check_no_momentum(const caffe::SolverParameter& config);
/// For rules whose momentum is the weight of a running mean: throws FieldError unless it is a fraction that stays.
void check_mean_momentum(const caffe::SolverParameter& config);
/// For rules that divide by a running mean: throws FieldError unless delta > 0, because 0 / 0 would spread.
void check_delta(const caffe::SolverParameter& config);
/// For rules that do not know them: throws FieldError where larc or local_lr_auto is on.
void check_no_layer_rates(const caffe::SolverParameter& config);

}  // namespace cortado
