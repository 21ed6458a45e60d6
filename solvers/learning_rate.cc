#include "solvers/learning_rate.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

struct Policy {
  const char* name;
  std::vector<const char*> needs;                                  ///< fields without which it says nothing
  double (*factor)(const Config& config, int64_t iter, int step);  ///< of base_lr
};

double fixed(const Config&, int64_t, int) { return 1; }
double step(const Config& config, int64_t, int step) { return std::pow(double(config.gamma()), step); }
double exponential(const Config& config, int64_t iter, int) { return std::pow(double(config.gamma()), double(iter)); }
double inverse(const Config& config, int64_t iter, int) {
  return std::pow(1 + double(config.gamma()) * double(iter), -double(config.power()));
}
double polynomial(const Config& config, int64_t iter, int) {
  const double left = std::max(0.0, 1 - double(iter) / config.max_iter());
  return std::pow(left, double(config.power()));
}
double sigmoid(const Config& config, int64_t iter, int) {
  return 1 / (1 + std::exp(-double(config.gamma()) * (double(iter) - config.stepsize())));
}

const std::vector<Policy>& policies() {
  static const std::vector<Policy> list = {
      {"fixed", {}, fixed},
      {"step", {"gamma", "stepsize"}, step},
      {"exp", {"gamma"}, exponential},
      {"inv", {"gamma", "power"}, inverse},
      {"multistep", {"gamma"}, step},
      {"poly", {"power", "max_iter"}, polynomial},
      {"sigmoid", {"gamma"}, sigmoid},
  };
  return list;
}

const Policy& find_policy(const Config& config) {
  const std::vector<std::string> names = all_lr_policies();
  if (config.lr_policy().empty())
    throw FieldError("lr_policy", "there is no lr_policy", "one of fixed, step, exp, inv, multistep, poly, sigmoid");
  for (const Policy& policy : policies())
    if (config.lr_policy() == policy.name) return policy;
  const std::string guess = did_you_mean(config.lr_policy(), names);
  throw FieldError("lr_policy", "unknown lr_policy '" + config.lr_policy() + "'",
                   guess.empty() ? "one of fixed, step, exp, inv, multistep, poly, sigmoid" : guess);
}

bool is_set(const Config& config, const char* name) {
  const auto* field = config.GetDescriptor()->FindFieldByName(name);
  const auto* reflection = config.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(config, field) > 0 : reflection->HasField(config, field);
}

void check_options(const Config& config, const Policy& policy) {
  for (const char* name : policy.needs)
    if (!is_set(config, name)) throw FieldError(name, std::string("lr_policy \"") + policy.name + "\" needs " + name);
  if (config.lr_policy() == "step" && config.stepsize() <= 0)
    throw FieldError("stepsize", "stepsize is " + std::to_string(config.stepsize()) + ": it must be positive");
  for (int i = 1; i < config.stepvalue_size(); ++i)
    if (config.lr_policy() == "multistep" && config.stepvalue(i) < config.stepvalue(i - 1))
      throw FieldError("stepvalue[" + std::to_string(i) + "]", "stepvalues must rise");
}

}  // namespace

std::vector<std::string> all_lr_policies() {
  std::vector<std::string> names;
  for (const Policy& policy : policies()) names.push_back(policy.name);
  return names;
}

LearningRate::LearningRate(const caffe::SolverParameter& config) : config_(config) {
  const Policy& policy = find_policy(config);
  check_options(config, policy);
  policy_ = policy.factor;
}

float LearningRate::next(int64_t iter) {
  if (config_.lr_policy() == "step") current_step_ = int(iter / config_.stepsize());
  if (config_.lr_policy() == "multistep" && current_step_ < config_.stepvalue_size() &&
      iter >= config_.stepvalue(current_step_)) {
    ++current_step_;
    log_info() << "MultiStep Status: Iteration " << iter << ", step = " << current_step_;
  }
  return float(config_.base_lr() * policy_(config_, iter, current_step_));
}

}  // namespace cortado
