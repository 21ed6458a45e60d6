#include "solvers/schedule.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

double share_of(const Config& config, int64_t iter, double power) {
  return std::pow(double(iter) / std::max(1, config.max_iter()), power);
}

float momentum_at(const Config& config, int64_t iter, float rate) {
  const double fixed = config.momentum(), most = config.max_momentum();
  if (config.momentum_policy() == "poly")
    return float(fixed + (most - fixed) * share_of(config, iter, config.momentum_power()));
  if (config.momentum_policy() == "opt") {
    const double root = 1 - std::sqrt(double(rate)) / 2;
    return float(config.has_max_momentum() ? std::min(root * root, most) : root * root);
  }
  return config.momentum();
}

float decay_at(const Config& config, int64_t iter) {
  if (config.weight_decay_policy() == "fixed") return config.weight_decay();
  const double share = share_of(config, iter, config.weight_decay_power()), decay = config.weight_decay();
  if (!config.has_max_weight_decay()) return float(decay * share);
  return float(decay + (config.max_weight_decay() - decay) * share);
}

void check_policy(const char* field, const std::string& policy, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), policy) != known.end()) return;
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "one of " : ", ") + name;
  const std::string guess = did_you_mean(policy, known);
  throw FieldError(field, "unknown " + std::string(field) + " '" + policy + "'", guess.empty() ? list : guess);
}

void need_max_iter(const Config& config, const char* field) {
  if (config.max_iter() > 0 || config.max_epoch() > 0) return;
  throw FieldError(field, std::string(field) + " \"poly\" needs max_iter");
}

}  // namespace

Schedule::Schedule(const Config& config) : config_(config), rate_(config) {
  check_warmup(config);
  check_momentum_policy(config);
  check_weight_decay_policy(config);
}

StepRates Schedule::next(int64_t iter, double loss) {
  const float rate = rate_.next(iter, loss);
  return {rate, momentum_at(config_, iter, rate), decay_at(config_, iter)};
}

StepRates fixed_rates(const Config& config, float rate) { return {rate, config.momentum(), config.weight_decay()}; }

void check_momentum_policy(const Config& config) {
  check_policy("momentum_policy", config.momentum_policy(), {"fixed", "poly", "opt"});
  if (config.momentum_policy() == "poly") need_max_iter(config, "momentum_policy");
  if (config.momentum_policy() != "fixed" && !(config.max_momentum() >= 0 && config.max_momentum() < 1))
    throw FieldError("max_momentum", "max_momentum is a fraction to keep: it must be at least 0 and less than 1");
  if (config.momentum_power() <= 0) throw FieldError("momentum_power", "momentum_power must be positive");
}

void check_weight_decay_policy(const Config& config) {
  check_policy("weight_decay_policy", config.weight_decay_policy(), {"fixed", "poly"});
  if (config.weight_decay_policy() == "poly") need_max_iter(config, "weight_decay_policy");
  if (config.max_weight_decay() < 0) throw FieldError("max_weight_decay", "max_weight_decay must not be negative");
  if (config.weight_decay_power() <= 0) throw FieldError("weight_decay_power", "weight_decay_power must be positive");
}

}  // namespace cortado
