#pragma once

// Update rules by name. A rule's own file in solvers/rules/ registers it; there is no list to edit.
// A rule goes over memory once: the gradient is scaled, decayed and used, and history and weight are written, in one
// loop.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/host_device.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// What one iteration does to one weight.
struct UpdateStep {
  int64_t iter;          ///< updates made before this one
  float rate;            ///< of the policy, times lr_mult
  float gradient_scale;  ///< turns the accumulated dw into the gradient: 1 / iter_size, times what clipping asks for
  float l2, l1;          ///< weight decay times decay_mult, as the one or the other
  const caffe::SolverParameter& config;
};

/// One weight's memory; all of it has `count` floats in one format.
struct UpdateOperands {
  float* w;
  const float* dw;
  std::span<float* const> history;
  int64_t count;
};

struct UpdateRule {
  std::string name;  ///< as `type` spells it
  std::string help;  ///< one line
  int histories;     ///< how many floats it keeps for each weight, all zero at first
  void (*check)(
      const caffe::SolverParameter& config);  ///< throws FieldError for options that the rule cannot work with
  void (*update)(Context& context, const UpdateStep& step, const UpdateOperands& on);
};

/// The rule, or null.
const UpdateRule* find_update_rule(const std::string& name);
std::vector<const UpdateRule*> all_update_rules();  ///< sorted by name

/// Put one at namespace scope in the rule's file.
struct RegisterUpdateRule {
  explicit RegisterUpdateRule(UpdateRule rule);
};

/// For rules without a velocity: throws FieldError unless momentum is 0.
void check_no_momentum(const caffe::SolverParameter& config);
/// For rules that divide by a running mean: throws FieldError unless delta > 0, because 0 / 0 would spread.
void check_delta(const caffe::SolverParameter& config);
/// Throws FieldError unless 0 <= value < 1.
void check_fraction(const char* field, float value);

/// g = dw * gradient_scale + l2 * w + l1 * sign(w): the gradient that every rule starts from.
struct Gradient {
  const float* dw;
  float scale, l2, l1;

  Gradient(const UpdateStep& step, const UpdateOperands& on)
      : dw(on.dw), scale(step.gradient_scale), l2(step.l2), l1(step.l1) {}
  CORTADO_HD float operator()(int64_t i, float w) const {
    const float sign = float(w > 0) - float(w < 0);
    return dw[i] * scale + l2 * w + l1 * sign;
  }
};

}  // namespace cortado
