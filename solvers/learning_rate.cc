#include "solvers/learning_rate.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

bool warms_up(const Config& config, int64_t iter) {
  return iter < config.warmup_iter() || iter < config.rampup_interval();
}

double warm_rate(const Config& config, int64_t iter) {
  const bool ramp = config.rampup_interval() > 0;
  const double first = ramp ? config.rampup_lr() : config.warmup_start_lr(), base = config.base_lr();
  const double share = double(iter) / (ramp ? config.rampup_interval() : config.warmup_iter());
  const double power = ramp ? 2 : config.warmup_policy() == "poly" ? double(config.warmup_power()) : 1;
  return first + (base - first) * (power == 1 ? share : std::pow(share, power));
}

}  // namespace

LearningRate::LearningRate(const Config& config)
    : config_(config),
      policy_(checked_lr_policy(config)),
      is_plateau_(config.lr_policy() == "plateau"),
      plateau_(config) {}

void LearningRate::advance(int64_t iter, double loss) {
  const std::string& name = config_.lr_policy();
  if (name == "step") current_step_ = int(iter / config_.stepsize());
  if (name == "multistep" && current_step_ < config_.stepvalue_size() && iter >= config_.stepvalue(current_step_)) {
    ++current_step_;
    log_info() << "MultiStep Status: Iteration " << iter << ", step = " << current_step_;
  }
  if (!is_plateau_) return;
  if (wants_loss()) plateau_.see(loss, iter);
  if (!plateau_.drops_at(iter, current_step_)) return;
  ++current_step_;
  log_info() << "Plateau Status: Iteration " << iter << ", step = " << current_step_;
}

float LearningRate::next(int64_t iter, double loss) {
  if (warms_up(config_, iter)) return std::max(float(warm_rate(config_, iter)), config_.min_lr());
  advance(iter, loss);
  return std::max(float(policy_.rate(config_, iter, current_step_)), config_.min_lr());
}

void check_warmup(const Config& config) {
  if (config.warmup_iter() > 0 && config.rampup_interval() > 0)
    throw FieldError("rampup_interval", "both warmup_iter and rampup_interval: one warm-up is enough", "keep one");
  for (const auto& [field, given] :
       {std::pair{"warmup_policy", config.has_warmup_policy()}, std::pair{"warmup_power", config.has_warmup_power()}})
    if (given && config.warmup_iter() == 0)
      throw FieldError(field, std::string(field) + " without warmup_iter",
                       "how many iterations does the warm-up take?");
  const std::string& policy = config.warmup_policy();
  if (policy != "linear" && policy != "poly") {
    const std::string guess = did_you_mean(policy, {"linear", "poly"});
    throw FieldError("warmup_policy", "unknown warmup_policy '" + policy + "'",
                     guess.empty() ? "linear or poly" : guess);
  }
  if (config.has_warmup_power() && policy != "poly")
    throw FieldError("warmup_power", "a linear warm-up has no power", "warmup_policy: \"poly\" has");
  if (config.warmup_power() <= 0) throw FieldError("warmup_power", "warmup_power must be positive");
  const bool warm = config.warmup_iter() > 0 || config.rampup_interval() > 0;
  if (warm && !config.has_base_lr()) throw FieldError("base_lr", "the warm-up leads to base_lr, which is missing");
}

}  // namespace cortado
