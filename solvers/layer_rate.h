#pragma once

// Learning rates for each weight, from norms of the weight and of its gradient, for rules with a velocity:
//   NVIDIA's larc    r = (1 - m) eta |w| / |g|; larc_policy scale: rate * r, clip: the lesser of rate and r
//   larc_turbo       r (1 - 0.9 c), c the running mean (0.95) of the cosine between gradient and velocity, from the
//                    third iteration on
//   Intel's local_lr_auto    r = ratio |w| / (|g| + weight_decay |w|); rate * r
// g is the clipped gradient without weight decay. r is 1 if a norm is 0. Note: r replaces lr_mult, except that lr_mult
// 0 still means that a weight does not learn.

#include <cmath>

#include "solvers/rule_of.h"

namespace cortado {

struct LayerRate {
  float larc_eta, auto_ratio;  ///< one of them is 0
  bool clip, turbo;

  explicit LayerRate(const caffe::SolverParameter& config)
      : larc_eta(config.larc() ? config.larc_eta() : 0),
        auto_ratio(config.larc() ? 0 : config.local_gw_ratio()),
        clip(config.larc_policy() == "clip"),
        turbo(config.larc_turbo()) {}

  CORTADO_HD WeightSums sums(const WeightStep& on, int64_t i) const {
    const double w = on.w[i], g = on.plain_gradient(i), h = turbo && larc_eta > 0 ? on.history[0][i] : 0.0f;
    return {{w * w, g * g, h * h, g * h}};
  }

  CORTADO_HD float rate(const WeightStep& on, const WeightSums& total) const {
    const double w = sqrt(total.of[0]), g = sqrt(total.of[1]), h = sqrt(total.of[2]);
    const bool known = w > 0 && g > 0;
    if (auto_ratio > 0) return on.policy_rate * float(known ? auto_ratio * w / (g + on.weight_decay * w) : 1.0);
    double own = known ? (1 - on.momentum) * larc_eta * w / g : 1.0;
    if (turbo && on.iter > 1) {
      const double cosine = g > 0 && h > 0 ? total.of[3] / (g * h) : 0.0;
      *on.memory = float(0.95 * *on.memory + 0.05 * cosine);
      own *= 1 - 0.9 * *on.memory;
    }
    return clip ? fminf(on.policy_rate, float(own)) : on.policy_rate * float(own);
  }
};

template <typename Rule>
struct WithLayerRate {
  static constexpr int kHistories = Rule::kHistories;
  Rule rule;
  LayerRate layer;
  explicit WithLayerRate(const caffe::SolverParameter& config) : rule(config), layer(config) {}
  CORTADO_HD WeightSums sums(const WeightStep& on, int64_t i) const { return layer.sums(on, i); }
  CORTADO_HD float rate(const WeightStep& on, const WeightSums& total) const { return layer.rate(on, total); }
  CORTADO_HD float operator()(const WeightStep& on, int64_t i) const { return rule(on, i); }
};

/// A rule that uses layer rates if the solver requests them. History 0 is its velocity.
template <typename Rule>
std::shared_ptr<const UpdateRule> make_rule_with_layer_rates(const caffe::SolverParameter& config) {
  if (config.larc() || config.local_lr_auto()) return make_rule<WithLayerRate<Rule>>(config);
  return make_rule<Rule>(config);
}

}  // namespace cortado
