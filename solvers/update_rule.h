#pragma once

// Update rules by name. A rule registers itself in its own file in solvers/rules/; no list has to be edited. A rule
// makes one pass over memory: one loop scales the gradient, adds weight decay and writes history and weight, for one
// weight, or for all weights of a net on a device. Rules whose rate depends on norms of whole weights make another pass
// over each weight before.

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

/// Sums over a whole weight that a rule needs, such as the sum of its squares.
struct WeightSums {
  double of[kMaxSums];
  CORTADO_HD WeightSums& operator+=(const WeightSums& more) {
    for (int k = 0; k < kMaxSums; ++k) of[k] += more.of[k];
    return *this;
  }
};

/// The values of the schedules at one iteration.
struct StepRates {
  float rate = 0, momentum = 0, weight_decay = 0;
};

/// Bias correction of running means that started at zero, after some number of updates. These are factors.
struct Correction {
  double rate = 1;             ///< of the rate, for rules that correct only the rate
  float mean = 1, square = 1;  ///< of the mean of the gradients, and of the mean of their squares
};

/// One weight and the parameters of its update in one iteration; the same on all devices.
struct WeightStep {
  float* w = nullptr;
  const float* dw = nullptr;
  float* history[kMaxHistories] = {};
  float* kept = nullptr;    ///< receives what is subtracted from w, in the place of dw; null: it is not kept
  float* memory = nullptr;  ///< one float per weight, for rules that store a number; may be null
  int64_t count = 0;        ///< floats in w, dw and each history, in the same layout
  int64_t iter = 0;         ///< updates done before this one
  float rate = 0;           ///< of the policy, times lr_mult, times the rule's correction
  float policy_rate = 0;    ///< of the policy alone
  float momentum = 0;
  float weight_decay = 0;  ///< of the policy, without decay_mult; l2 and l1 include it
  Correction correction = {};
  float gradient_scale = 1;  ///< scales the accumulated dw: 1 / iter_size, times the clipping factor
  float l2 = 0, l1 = 0;      ///< weight decay times decay_mult; one of them is 0

  /// The gradient that most rules use.
  CORTADO_HD float gradient(int64_t i) const { return dw[i] * gradient_scale + l2 * w[i] + l1 * sign_of(w[i]); }
  /// Its two parts, for rules that treat them separately.
  CORTADO_HD float plain_gradient(int64_t i) const { return dw[i] * gradient_scale; }
  CORTADO_HD float decay(int64_t i) const { return l2 * w[i] + l1 * sign_of(w[i]); }

  CORTADO_HD static float sign_of(float value) { return float(value > 0) - float(value < 0); }
};

/// Values that are common to all weights in one iteration; for a device they are in its memory.
struct IterationStep {
  StepRates rates = {};
  Correction correction = {};
  int64_t iter = 0;
  float gradient_scale = 1;
  int32_t skip = 0;  ///< not 0: skip the update

  /// Completes an entry of a table, whose rate is lr_mult and whose l2 or l1 is decay_mult.
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

/// A 16-bit copy of a weight, in the order K x taps x C of a weight K x C x taps, or in the same order.
struct UpdatedCopy {
  void* to = nullptr;  ///< null: no copy
  bool bfloat = false;
  Divisor c = Divisor(1), taps = Divisor(1);  ///< 1 if the order is the same

  CORTADO_HD void put(int64_t i, float value) const {
    const int64_t row = taps.of(i), filter = c.of(row), channel = row - filter * c.value();
    const int64_t at = (filter * taps.value() + i - row * taps.value()) * c.value() + channel;
    if (bfloat)
      static_cast<BFloat16*>(to)[at] = BFloat16(value);
    else
      static_cast<Half*>(to)[at] = Half(value);
  }
};

/// The weights of a net on one device; all pointers are to device memory. The entries are as IterationStep::of()
/// expects them.
struct WeightTable {
  const WeightStep* weights = nullptr;
  const struct Piece* pieces = nullptr;  ///< those of one weight are adjacent
  const int64_t* first_piece = nullptr;  ///< per weight, and the end
  WeightSums* sums = nullptr;            ///< per piece: scratch
  float* rates = nullptr;                ///< per weight: scratch
  int64_t weight_count = 0, count = 0;   ///< of weights, of pieces
  int64_t values = 0;                    ///< in all weights
  int histories = 0;                     ///< of each weight
  const UpdatedCopy* copies = nullptr;   ///< per weight
  int64_t copied = 0;                    ///< bytes in all copies
};

/// A rule with its options.
class UpdateRule {
 public:
  UpdateRule(const std::string& name, int histories, bool layer_wise)
      : name(name), histories(histories), layer_wise(layer_wise) {}
  virtual ~UpdateRule() = default;

  const std::string name;  ///< the value of `type`
  const int histories;     ///< number of floats per weight element that it stores, initially zero
  const bool layer_wise;   ///< the rate depends on whole weights; otherwise the update is elementwise

  /// The correction after `iter` updates.
  virtual Correction correction(int64_t iter) const = 0;
  /// Updates one weight on the CPU. `scratch` has sum_of_squares_scratch(on.count) entries.
  virtual void update(Context& context, const WeightStep& on, WeightSums* scratch) const = 0;
  /// Updates all weights of a table; `step` is in device memory.
  virtual void update_all(Context& context, const WeightTable& on, const IterationStep* step) const = 0;
};

/// Number of floats of scratch memory for sums over the pieces of a weight of `count` elements.
int64_t sum_of_squares_scratch(int64_t count);
/// The sum of x[i]^2: partial sums in double over pieces of a fixed size, so the result does not depend on threads.
double sum_of_squares(Context& context, const float* x, int64_t count, float* scratch);

/// The rule that `type` names. Throws FieldError if it is unknown, or for options that it does not support.
std::shared_ptr<const UpdateRule> make_update_rule(const caffe::SolverParameter& config);
std::vector<std::string> all_update_rules();  ///< sorted

/// Define one at namespace scope in the rule's file (solvers/rule_of.h). `make` throws FieldError.
struct RegisterUpdateRule {
  using Make = std::shared_ptr<const UpdateRule> (*)(const caffe::SolverParameter& config);
  RegisterUpdateRule(const std::string& name, Make make);
};

/// For rules without a velocity: throws FieldError unless momentum is 0.
void check_no_momentum(const caffe::SolverParameter& config);
/// For rules whose momentum is the weight of a running mean: throws FieldError unless it is a constant fraction.
void check_mean_momentum(const caffe::SolverParameter& config);
/// For rules that divide by a running mean: throws FieldError unless delta > 0, because 0 / 0 would produce NaN.
void check_delta(const caffe::SolverParameter& config);
/// For rules that do not support them: throws FieldError if larc or local_lr_auto is on.
void check_no_layer_rates(const caffe::SolverParameter& config);

}  // namespace cortado
