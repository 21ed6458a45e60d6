#include "solvers/lr_policies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

double fixed(const Config& config, int64_t, int) { return config.base_lr(); }

double step(const Config& config, int64_t, int step) {
  return config.base_lr() * std::pow(double(config.gamma()), step);
}

double exponential(const Config& config, int64_t iter, int) {
  return config.base_lr() * std::pow(double(config.gamma()), double(iter));
}

double inverse(const Config& config, int64_t iter, int) {
  return config.base_lr() * std::pow(1 + double(config.gamma()) * double(iter), -double(config.power()));
}

double polynomial(const Config& config, int64_t iter, int) {
  const double left = std::max(0.0, 1 - double(iter) / config.max_iter()), least = config.min_lr();
  return least + (config.base_lr() - least) * std::pow(left, double(config.power()));
}

double sigmoid(const Config& config, int64_t iter, int) {
  return config.base_lr() / (1 + std::exp(-double(config.gamma()) * (double(iter) - config.stepsize())));
}

double multifixed(const Config& config, int64_t iter, int) {
  int stage = 0;
  while (stage + 1 < config.stageiter_size() && iter > config.stageiter(stage)) ++stage;
  return config.stagelr(stage);
}

/// From `first` at share 0 to `last` at share 1, along half a cosine.
double half_cosine(double first, double last, double share) {
  return last + (first - last) / 2 * (1 + std::cos(std::numbers::pi * std::clamp(share, 0.0, 1.0)));
}

/// How much of its cycle is over at t, where each cycle is `longer` times as long as the one before. The cycle's number
/// is a closed form: a loop over short cycles might never end.
double share_of_cycle(double t, double length, double longer) {
  const auto begin_of = [&](double k) {
    return longer == 1 ? k * length : length * (std::pow(longer, k) - 1) / (longer - 1);
  };
  double k =
      longer == 1 ? std::floor(t / length) : std::floor(std::log1p(t * (longer - 1) / length) / std::log(longer));
  while (k > 0 && begin_of(k) > t) --k;
  if (begin_of(k + 1) <= t) ++k;
  return (t - begin_of(k)) / (begin_of(k + 1) - begin_of(k));
}

int warm_iterations(const Config& config) { return std::max(config.warmup_iter(), config.rampup_interval()); }

double cosine(const Config& config, int64_t iter, int) {
  const int warm = warm_iterations(config);
  const double t = std::max(0.0, double(iter - warm));
  const double share = config.cosine_cycle() > 0 ? share_of_cycle(t, config.cosine_cycle(), config.cosine_cycle_mult())
                                                 : t / (config.max_iter() - warm);
  return half_cosine(config.base_lr(), config.min_lr(), share);
}

double onecycle(const Config& config, int64_t iter, int) {
  const double last = config.max_iter() - 1, top = double(config.onecycle_warmup()) * config.max_iter() - 1;
  const double first_rate = double(config.base_lr()) / config.onecycle_div();
  if (double(iter) <= top && top > 0) return half_cosine(first_rate, config.base_lr(), double(iter) / top);
  const double begin = std::max(top, 0.0);
  return half_cosine(config.base_lr(), first_rate / config.onecycle_final_div(),
                     last > begin ? (double(iter) - begin) / (last - begin) : 1);
}

void check_step(const Config& config) {
  if (config.stepsize() <= 0)
    throw FieldError("stepsize", "stepsize is " + std::to_string(config.stepsize()) + ": it must be positive");
}

void check_multistep(const Config& config) {
  for (int i = 1; i < config.stepvalue_size(); ++i)
    if (config.stepvalue(i) < config.stepvalue(i - 1))
      throw FieldError("stepvalue[" + std::to_string(i) + "]", "stepvalues must rise");
}

void check_poly(const Config& config) {
  if (config.min_lr() > config.base_lr())
    throw FieldError("min_lr", "min_lr is above base_lr, and the rate goes from the one to the other");
}

void check_plateau(const Config& config) {
  for (int i = 0; i < config.plateau_winsize_size(); ++i)
    if (config.plateau_winsize(i) <= 0)
      throw FieldError("plateau_winsize[" + std::to_string(i) + "]",
                       "plateau_winsize counts iterations: it must be positive");
  if (config.plateau_min_delta() < 0) throw FieldError("plateau_min_delta", "plateau_min_delta must not be negative");
}

void check_multifixed(const Config& config) {
  const int rates = config.stagelr_size(), ends = config.stageiter_size();
  if (rates != ends)
    throw FieldError(
        rates > ends ? "stagelr[" + std::to_string(ends) + "]" : "stageiter[" + std::to_string(rates) + "]",
        std::to_string(rates) + " stagelr for " + std::to_string(ends) + " stageiter", "each stage takes one of both");
  for (int i = 0; i < rates; ++i) {
    if (config.stagelr(i) < 0) throw FieldError("stagelr[" + std::to_string(i) + "]", "stagelr must not be negative");
    if (i > 0 && config.stageiter(i) < config.stageiter(i - 1))
      throw FieldError("stageiter[" + std::to_string(i) + "]", "stageiters must rise");
  }
}

void check_cosine(const Config& config) {
  check_poly(config);
  if (config.cosine_cycle() < 0)
    throw FieldError("cosine_cycle", "cosine_cycle counts iterations: it must not be negative");
  if (config.cosine_cycle_mult() < 1)
    throw FieldError("cosine_cycle_mult", "cosine_cycle_mult must be at least 1: cycles do not get shorter");
  if (config.has_cosine_cycle_mult() && config.cosine_cycle() == 0)
    throw FieldError("cosine_cycle_mult", "cosine_cycle_mult without cosine_cycle", "how long is the first cycle?");
  if (config.cosine_cycle() == 0 && config.has_max_iter() && warm_iterations(config) >= config.max_iter() &&
      config.max_iter() > 0)
    throw FieldError(config.warmup_iter() > 0 ? "warmup_iter" : "rampup_interval",
                     "the warm-up is as long as the training, and nothing is left for the cosine");
}

void check_onecycle(const Config& config) {
  if (warm_iterations(config) > 0)
    throw FieldError(config.warmup_iter() > 0 ? "warmup_iter" : "rampup_interval",
                     "lr_policy \"onecycle\" brings its own warm-up", "onecycle_warmup and onecycle_div shape it");
  if (!(config.onecycle_warmup() >= 0 && config.onecycle_warmup() < 1))
    throw FieldError("onecycle_warmup",
                     "onecycle_warmup is a share of max_iter: it must be at least 0 and less than 1");
  if (config.onecycle_div() < 1) throw FieldError("onecycle_div", "onecycle_div must be at least 1");
  if (config.onecycle_final_div() < 1) throw FieldError("onecycle_final_div", "onecycle_final_div must be at least 1");
}

const std::vector<LrPolicy>& policies() {
  static const std::vector<LrPolicy> list = {
      {"fixed", {"base_lr"}, fixed},
      {"step", {"base_lr", "gamma", "stepsize"}, step, check_step},
      {"exp", {"base_lr", "gamma"}, exponential},
      {"inv", {"base_lr", "gamma", "power"}, inverse},
      {"multistep", {"base_lr", "gamma"}, step, check_multistep},
      {"poly", {"base_lr", "power", "max_iter"}, polynomial, check_poly},
      {"sigmoid", {"base_lr", "gamma"}, sigmoid},
      {"plateau", {"base_lr", "gamma", "plateau_winsize"}, step, check_plateau},
      {"multifixed", {"stagelr", "stageiter"}, multifixed, check_multifixed},
      {"cosine", {"base_lr", "max_iter"}, cosine, check_cosine},
      {"onecycle", {"base_lr", "max_iter"}, onecycle, check_onecycle},
  };
  return list;
}

std::string list_of_policies() { return "one of " + list_text(all_lr_policies()); }

const LrPolicy& find_policy(const Config& config) {
  if (config.lr_policy().empty()) throw FieldError("lr_policy", "there is no lr_policy", list_of_policies());
  for (const LrPolicy& policy : policies())
    if (config.lr_policy() == policy.name) return policy;
  const std::string guess = did_you_mean(config.lr_policy(), all_lr_policies());
  throw FieldError("lr_policy", "unknown lr_policy '" + config.lr_policy() + "'",
                   guess.empty() ? list_of_policies() : guess);
}

bool is_policy_option_set(const Config& config, const std::string& name) {
  if (name == "max_iter" && config.max_epoch() > 0) return true;
  const auto* field = config.GetDescriptor()->FindFieldByName(name);
  const auto* reflection = config.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(config, field) > 0 : reflection->HasField(config, field);
}

/// Options that no Caffe has belong to one policy; with another they are a slip. Caffe's own stay unread, as in Caffe.
void check_strays(const Config& config) {
  for (const char* owner : {"cosine", "onecycle", "plateau"})
    for (const char* option : {"cosine_cycle", "cosine_cycle_mult", "onecycle_warmup", "onecycle_div",
                               "onecycle_final_div", "plateau_metric", "plateau_min_delta"})
      if (std::string(option).starts_with(std::string(owner) + "_") && config.lr_policy() != owner &&
          is_policy_option_set(config, option))
        throw FieldError(option, std::string(option) + " belongs to lr_policy \"" + owner + "\", and this one is \"" +
                                     config.lr_policy() + "\"");
}

}  // namespace

std::vector<std::string> all_lr_policies() {
  std::vector<std::string> names;
  for (const LrPolicy& policy : policies()) names.push_back(policy.name);
  return names;
}

const LrPolicy& checked_lr_policy(const Config& config) {
  const LrPolicy& policy = find_policy(config);
  for (const char* name : policy.needs)
    if (!is_policy_option_set(config, name))
      throw FieldError("lr_policy", std::string("lr_policy \"") + policy.name + "\" needs " + name);
  if (policy.check) policy.check(config);
  check_strays(config);
  return policy;
}

}  // namespace cortado
