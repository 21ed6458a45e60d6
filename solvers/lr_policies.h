#pragma once

// The formulas of lr_policy, without warm-up and floor:
//   fixed      base
//   step       base * gamma^floor(iter / stepsize)
//   exp        base * gamma^iter
//   inv        base * (1 + gamma * iter)^-power
//   multistep  base * gamma^(number of stepvalues passed)
//   poly       min + (base - min) * (1 - iter / max_iter)^power
//   sigmoid    base / (1 + e^(-gamma * (iter - stepsize)))
//   plateau    base * gamma^(number of drops), see solvers/schedule.h
//   multifixed stagelr[k] up to and with iteration stageiter[k]; the last one stays
//   cosine     min + (base - min) / 2 * (1 + cos(pi * t / length)), t counted from the end of the warm-up
//   onecycle   from base / div up to base, then down to base / div / final_div, along half cosines
// Notes: sigmoid rises if gamma is positive, as in Caffe. Poly past max_iter is min_lr here and NaN in Caffe.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado {

/// What a policy counts over the iterations (LearningRate::current_step()).
enum class Steps { kNone, kStepsizes, kStepvalues, kDrops };

struct LrPolicy {
  std::function<double(int64_t iter, int step)> rate;
  Steps steps = Steps::kNone;
};

/// The policy that lr_policy names. Throws FieldError if it is unknown, or if options are missing or out of range.
LrPolicy lr_policy_of(const caffe::SolverParameter& config);
std::vector<std::string> all_lr_policies();

}  // namespace cortado
