#include "solvers/schedule.h"

#include <algorithm>
#include <cmath>

#include "core/log.h"
#include "core/text/text.h"
#include "solvers/field_checks.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

/// Checks that the policies of momentum and weight decay share.
void check_policy(const Config& config, const char* field, const std::string& policy,
                  const std::vector<std::string>& known) {
  check_known(field, policy, known, "one of " + list_text(known));
  refuse_if(policy == "poly" && config.max_iter() <= 0 && config.max_epoch() <= 0, field,
            std::string(field) + " \"poly\" needs max_iter");
}

/// The completed fraction of the training, from 0 to 1, to the power of `power`.
std::function<double(int64_t iter)> share_of(const Config& config, double power) {
  return [end = std::max(1, config.max_iter()), power](int64_t iter) { return std::pow(double(iter) / end, power); };
}

}  // namespace

WarmUp warm_up_of(const Config& config) {
  const bool ramp = config.rampup_interval() > 0, warm = config.warmup_iter() > 0;
  refuse_if(warm && ramp, "rampup_interval", "both warmup_iter and rampup_interval set a warm-up", "keep one");
  for (const auto& [field, given] :
       {std::pair{"warmup_policy", config.has_warmup_policy()}, std::pair{"warmup_power", config.has_warmup_power()}})
    refuse_if(given && config.warmup_iter() == 0, field, std::string(field) + " without warmup_iter",
              "add warmup_iter, the length of the warm-up in iterations");
  const bool poly = config.warmup_policy() == "poly";
  check_known("warmup_policy", config.warmup_policy(), {"linear", "poly"}, "use linear or poly");
  refuse_if(config.has_warmup_power() && !poly, "warmup_power", "a linear warm-up has no power",
            "remove warmup_power, or set warmup_policy: \"poly\"");
  refuse_if(config.warmup_power() <= 0, "warmup_power", "warmup_power must be positive");
  refuse_if((warm || ramp) && !config.has_base_lr(), "base_lr", "the warm-up needs base_lr, which is not set");
  if (ramp) return {config.rampup_interval(), config.rampup_lr(), config.base_lr(), 2};
  return {config.warmup_iter(), config.warmup_start_lr(), config.base_lr(), poly ? config.warmup_power() : 1};
}

LearningRate::LearningRate(const Config& config)
    : policy_(lr_policy_of(config)),
      warm_up_(warm_up_of(config)),
      plateau_(config),
      stepvalues_(config.stepvalue().begin(), config.stepvalue().end()),
      stepsize_(config.stepsize()),
      min_lr_(config.min_lr()),
      sees_scores_(!config.plateau_metric().empty()) {}

void LearningRate::advance(int64_t iter, double loss) {
  const auto tell = [&](const char* what) {
    log_info() << what << " Status: Iteration " << iter << ", step = " << current_step_;
  };
  if (policy_.steps == Steps::kStepsizes) current_step_ = int(iter / stepsize_);
  if (policy_.steps == Steps::kStepvalues && size_t(current_step_) < stepvalues_.size() &&
      iter >= stepvalues_[size_t(current_step_)]) {
    ++current_step_;
    tell("MultiStep");
  }
  if (wants_loss()) plateau_.see(loss, iter);
  if (is_plateau() && plateau_.drops_at(iter, current_step_)) {
    ++current_step_;
    tell("Plateau");
  }
}

float LearningRate::next(int64_t iter, double loss) {
  if (iter < warm_up_.iterations) {
    const auto& [iterations, first, base, power] = warm_up_;
    const double share = double(iter) / iterations;
    return std::max(float(first + (base - first) * (power == 1 ? share : std::pow(share, power))), min_lr_);
  }
  advance(iter, loss);
  return std::max(float(policy_.rate(iter, current_step_)), min_lr_);
}

MomentumPolicy momentum_policy_of(const Config& config) {
  const std::string& policy = config.momentum_policy();
  const double fixed = config.momentum(), most = config.max_momentum();
  check_policy(config, "momentum_policy", policy, {"fixed", "poly", "opt"});
  if (policy != "fixed") check_fraction("max_momentum", config.max_momentum());
  refuse_if(config.momentum_power() <= 0, "momentum_power", "momentum_power must be positive");
  if (policy == "poly")
    return [fixed, most, share = share_of(config, config.momentum_power())](int64_t iter, float) {
      return float(fixed + (most - fixed) * share(iter));
    };
  if (policy == "opt")
    return [has_most = config.has_max_momentum(), most](int64_t, float rate) {
      const double root = 1 - std::sqrt(double(rate)) / 2;
      return float(has_most ? std::min(root * root, most) : root * root);
    };
  return [fixed = config.momentum()](int64_t, float) { return fixed; };
}

WeightDecayPolicy weight_decay_policy_of(const Config& config) {
  check_policy(config, "weight_decay_policy", config.weight_decay_policy(), {"fixed", "poly"});
  refuse_if(config.max_weight_decay() < 0, "max_weight_decay", "max_weight_decay must not be negative");
  refuse_if(config.weight_decay_power() <= 0, "weight_decay_power", "weight_decay_power must be positive");
  if (config.weight_decay_policy() == "fixed") return [decay = config.weight_decay()](int64_t) { return decay; };
  const double decay = config.weight_decay(), gain = config.max_weight_decay() - decay;
  return [decay, gain, rises = config.has_max_weight_decay(), share = share_of(config, config.weight_decay_power())](
             int64_t iter) { return float(rises ? decay + gain * share(iter) : decay * share(iter)); };
}

}  // namespace cortado
