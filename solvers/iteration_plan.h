#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "solvers/update_rule.h"

namespace cortado {

/// Limits the norm of all gradients. Like Caffe with several solvers, it limits that of their mean over shards, but of
/// their sum over iter_size. The same on all devices.
struct GradientClip {
  float most;    ///< clip_gradients; negative: no limit
  double share;  ///< 1 / shards whose gradients are summed

  CORTADO_HD double norm(double sum_of_squares) const { return sqrt(sum_of_squares) * share; }
  /// The factor for gradients of this norm.
  CORTADO_HD double factor(double norm) const { return most >= 0 && norm > most ? most / norm : 1.0; }
};

/// The solver's options for one iteration: its passes, and how their gradients change the weights.
struct IterationPlan {
  std::shared_ptr<const UpdateRule> rule;
  int iter_size = 1, local_steps = 1;
  int shards = 0;                          ///< 0: not known yet; defaults to the number of ranks
  float outer_lr = 0, outer_momentum = 0;  ///< for local steps
  float clip_gradients = -1;               ///< negative: no clipping
  bool l1 = false;                         ///< regularization_type
  bool rule_remembers = false;             ///< the rule stores one number for each param (larc_turbo)
  bool keeps_updates = false;  ///< the update replaces the gradient, for snapshots (snapshot_diff) or scripts

  /// Passes of one shard in one iteration. passes(): those of all shards.
  int64_t passes_of_shard() const { return int64_t(iter_size) * local_steps; }
  int64_t passes() const { return passes_of_shard() * std::max(1, shards); }
  /// Passes whose gradients are summed for one update: those of all shards, or with local_steps those of one.
  int64_t passes_per_update() const { return iter_size * shards_per_update(); }
  /// Shards whose gradients are summed for one update.
  int64_t shards_per_update() const { return local_steps > 1 ? 1 : std::max(1, shards); }
  GradientClip clip() const { return {clip_gradients, 1.0 / double(shards_per_update())}; }

  /// Whether each weight is updated during backward, as soon as its gradient is complete. Gradients then need no memory
  /// of their own, because nothing reads all of them together. On a device one pass over all weights is faster.
  bool updates_within_backward(const Context& context) const {
    return context.shares_host_memory() && iter_size == 1 && clip_gradients < 0 && !keeps_updates && shards <= 1;
  }
  /// Whether each rank updates a slice of the weights and stores the history of that slice only. This requires an
  /// elementwise update: no norms of weights or of all gradients, no use of gradients afterwards, and no local updates.
  /// A device must first know whether all gradients are finite.
  bool updates_by_slices(const Context& context) const {
    return context.shares_host_memory() && !rule->layer_wise && clip_gradients < 0 && !keeps_updates &&
           local_steps <= 1;
  }
};

/// `rule` is the result of make_update_rule(config).
inline IterationPlan iteration_plan_of(const caffe::SolverParameter& config, std::shared_ptr<const UpdateRule> rule) {
  return {.rule = std::move(rule),
          .iter_size = config.iter_size(),
          .local_steps = config.local_steps(),
          .shards = config.shards(),
          .outer_lr = config.outer_lr(),
          .outer_momentum = config.outer_momentum(),
          .clip_gradients = config.clip_gradients(),
          .l1 = config.regularization_type() == "L1",
          .rule_remembers = config.larc() && config.larc_turbo(),
          .keeps_updates = config.snapshot_diff()};
}
/// Throws FieldError like make_update_rule().
inline IterationPlan iteration_plan_of(const caffe::SolverParameter& config) {
  return iteration_plan_of(config, make_update_rule(config));
}

}  // namespace cortado
