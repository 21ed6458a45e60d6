#pragma once

// Update rules by name. A rule's own file in solvers/rules/ registers it; there is no list to edit.
// A rule goes over memory once: the gradient is scaled, decayed and used, and history and weight are written, in one
// loop; over one weight, or over all weights of a net on a device.

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/host_device.h"
#include "proto/cortado.pb.h"

namespace cortado {

constexpr int kMostHistories = 2;

/// One weight, and what an iteration does to it, as rules see it on any device.
struct WeightStep {
  float* w = nullptr;
  const float* dw = nullptr;
  float* history[kMostHistories] = {};
  int64_t count = 0;        ///< floats in each of them, stored alike
  float rate = 0;           ///< of the policy, times lr_mult, times the rule's correction
  float gradient_scale = 1; ///< turns the accumulated dw into the gradient: 1 / iter_size, times what clipping asks for
  float l2 = 0, l1 = 0;     ///< weight decay times decay_mult, as the one or the other

  /// The gradient that every rule starts from.
  CORTADO_HD float gradient(int64_t i) const {
    const float sign = float(w[i] > 0) - float(w[i] < 0);
    return dw[i] * gradient_scale + l2 * w[i] + l1 * sign;
  }
};

/// What is the same for all weights in one iteration; on a device it lies in the device's memory.
struct IterationStep {
  double correction = 1;    ///< of the rate, by the rule (UpdateRule::correction)
  float rate = 0;           ///< of the policy
  float gradient_scale = 1;
  int32_t skip = 0;         ///< not 0: nothing is updated

  CORTADO_HD float rate_of(float lr_mult) const { return float(double(rate * lr_mult) * correction); }
};

/// Weights of a net on one device: the table and its pieces lie in the device's memory. WeightStep::rate of the table is lr_mult.
struct WeightTable {
  const WeightStep* weights = nullptr;
  const struct Piece* pieces = nullptr;
  int64_t count = 0;  ///< of pieces
};

struct UpdateRule {
  std::string name;  ///< as `type` spells it
  std::string help;  ///< one line
  int histories;     ///< how many floats it keeps for each weight, all zero at first
  /// Throws FieldError for options that the rule cannot work with.
  void (*check)(const caffe::SolverParameter& config);
  /// What the rate is multiplied by after `iter` updates.
  double (*correction)(const caffe::SolverParameter& config, int64_t iter);
  /// One weight on the CPU.
  void (*update)(Context& context, const caffe::SolverParameter& config, const WeightStep& on);
  /// All weights of a table; `step` lies in the device's memory.
  void (*update_all)(Context& context, const caffe::SolverParameter& config, const WeightTable& on, const IterationStep* step);
};

/// The rule, or null.
const UpdateRule* find_update_rule(const std::string& name);
std::vector<const UpdateRule*> all_update_rules();  ///< sorted by name

/// Put one at namespace scope in the rule's file (solvers/rule_of.h).
struct RegisterUpdateRule {
  explicit RegisterUpdateRule(UpdateRule rule);
};

/// For rules without a velocity: throws FieldError unless momentum is 0.
void check_no_momentum(const caffe::SolverParameter& config);
/// For rules that divide by a running mean: throws FieldError unless delta > 0, because 0 / 0 would spread.
void check_delta(const caffe::SolverParameter& config);
/// Throws FieldError unless 0 <= value < 1.
void check_fraction(const char* field, float value);

}  // namespace cortado
