#include "solvers/lr_policies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/text/text.h"
#include "solvers/field_checks.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;
using Rate = std::function<double(int64_t iter, int step)>;

std::string indexed(const char* field, int index) { return std::string(field) + "[" + std::to_string(index) + "]"; }

Rate fixed(const Config& config) {
  return [base = double(config.base_lr())](int64_t, int) { return base; };
}

Rate by_steps(const Config& config) {
  return [base = config.base_lr(), gamma = double(config.gamma())](int64_t, int step) {
    return base * std::pow(gamma, step);
  };
}

Rate step(const Config& config) {
  refuse_if(config.stepsize() <= 0, "stepsize",
            "stepsize is " + std::to_string(config.stepsize()) + ": it must be positive");
  return by_steps(config);
}

Rate multistep(const Config& config) {
  for (int i = 1; i < config.stepvalue_size(); ++i)
    refuse_if(config.stepvalue(i) < config.stepvalue(i - 1), indexed("stepvalue", i), "stepvalues must increase");
  return by_steps(config);
}

Rate plateau(const Config& config) {
  for (int i = 0; i < config.plateau_winsize_size(); ++i)
    refuse_if(config.plateau_winsize(i) <= 0, indexed("plateau_winsize", i),
              "plateau_winsize counts iterations: it must be positive");
  refuse_if(config.plateau_min_delta() < 0, "plateau_min_delta", "plateau_min_delta must not be negative");
  return by_steps(config);
}

Rate exponential(const Config& config) {
  return [base = config.base_lr(), gamma = double(config.gamma())](int64_t iter, int) {
    return base * std::pow(gamma, double(iter));
  };
}

Rate inverse(const Config& config) {
  return [base = config.base_lr(), gamma = double(config.gamma()), power = double(config.power())](int64_t iter, int) {
    return base * std::pow(1 + gamma * double(iter), -power);
  };
}

void check_min_lr(const Config& config) {
  refuse_if(config.min_lr() > config.base_lr(), "min_lr", "min_lr is above base_lr");
}

Rate polynomial(const Config& config) {
  check_min_lr(config);
  return [base = config.base_lr(), least = double(config.min_lr()), power = double(config.power()),
          end = config.max_iter()](int64_t iter, int) {
    return least + (base - least) * std::pow(std::max(0.0, 1 - double(iter) / end), power);
  };
}

Rate sigmoid(const Config& config) {
  return [base = config.base_lr(), gamma = double(config.gamma()), middle = config.stepsize()](int64_t iter, int) {
    return base / (1 + std::exp(-gamma * (double(iter) - middle)));
  };
}

Rate multifixed(const Config& config) {
  const std::vector<float> rates(config.stagelr().begin(), config.stagelr().end());
  const std::vector<int64_t> ends(config.stageiter().begin(), config.stageiter().end());
  refuse_if(rates.size() != ends.size(),
            rates.size() > ends.size() ? indexed("stagelr", int(ends.size())) : indexed("stageiter", int(rates.size())),
            std::to_string(rates.size()) + " stagelr for " + std::to_string(ends.size()) + " stageiter",
            "set one stagelr and one stageiter for each stage");
  for (int i = 0; i < int(rates.size()); ++i) {
    refuse_if(config.stagelr(i) < 0, indexed("stagelr", i), "stagelr must not be negative");
    refuse_if(i > 0 && config.stageiter(i) < config.stageiter(i - 1), indexed("stageiter", i),
              "stageiters must increase");
  }
  return [rates, ends](int64_t iter, int) {
    size_t stage = 0;
    while (stage + 1 < ends.size() && iter > ends[stage]) ++stage;
    return double(rates[stage]);
  };
}

/// From `first` at share 0 to `last` at share 1, along half a cosine.
double half_cosine(double first, double last, double share) {
  return last + (first - last) / 2 * (1 + std::cos(std::numbers::pi * std::clamp(share, 0.0, 1.0)));
}

/// The completed fraction of the cycle at t, where each cycle is `longer` times as long as the previous one. The number
/// of the cycle has a closed form; a loop over short cycles might not end.
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
const char* warm_field(const Config& config) { return config.warmup_iter() > 0 ? "warmup_iter" : "rampup_interval"; }

Rate cosine(const Config& config) {
  check_min_lr(config);
  const int warm = warm_iterations(config), end = config.max_iter();
  const double cycle = config.cosine_cycle(), longer = config.cosine_cycle_mult();
  refuse_if(cycle < 0, "cosine_cycle", "cosine_cycle counts iterations: it must not be negative");
  refuse_if(longer < 1, "cosine_cycle_mult", "cosine_cycle_mult must be at least 1");
  refuse_if(config.has_cosine_cycle_mult() && cycle == 0, "cosine_cycle_mult", "cosine_cycle_mult without cosine_cycle",
            "add cosine_cycle, the length of the first cycle in iterations");
  refuse_if(cycle == 0 && warm >= end && end > 0, warm_field(config),
            "the warm-up takes the whole training, which leaves no iterations for the cosine");
  return [base = config.base_lr(), least = config.min_lr(), warm, end, cycle, longer](int64_t iter, int) {
    const double t = std::max(0.0, double(iter - warm));
    return half_cosine(base, least, cycle > 0 ? share_of_cycle(t, cycle, longer) : t / (end - warm));
  };
}

Rate onecycle(const Config& config) {
  refuse_if(warm_iterations(config) > 0, warm_field(config), "lr_policy \"onecycle\" has its own warm-up",
            "use onecycle_warmup and onecycle_div instead");
  refuse_if(!(config.onecycle_warmup() >= 0 && config.onecycle_warmup() < 1), "onecycle_warmup",
            "onecycle_warmup is a share of max_iter: it must be at least 0 and less than 1");
  refuse_if(config.onecycle_div() < 1, "onecycle_div", "onecycle_div must be at least 1");
  refuse_if(config.onecycle_final_div() < 1, "onecycle_final_div", "onecycle_final_div must be at least 1");
  const double last = config.max_iter() - 1, top = double(config.onecycle_warmup()) * config.max_iter() - 1;
  const double base = config.base_lr(), first = base / config.onecycle_div(),
               least = first / config.onecycle_final_div();
  return [=](int64_t iter, int) {
    if (double(iter) <= top && top > 0) return half_cosine(first, base, double(iter) / top);
    const double begin = std::max(top, 0.0);
    return half_cosine(base, least, last > begin ? (double(iter) - begin) / (last - begin) : 1);
  };
}

struct NamedPolicy {
  const char* name;
  std::vector<const char*> needs;         ///< required fields
  Rate (*rate_of)(const Config& config);  ///< throws FieldError
  Steps steps = Steps::kNone;
};

const std::vector<NamedPolicy>& policies() {
  static const std::vector<NamedPolicy> list = {
      {"fixed", {"base_lr"}, fixed},
      {"step", {"base_lr", "gamma", "stepsize"}, step, Steps::kStepsizes},
      {"exp", {"base_lr", "gamma"}, exponential},
      {"inv", {"base_lr", "gamma", "power"}, inverse},
      {"multistep", {"base_lr", "gamma"}, multistep, Steps::kStepvalues},
      {"poly", {"base_lr", "power", "max_iter"}, polynomial},
      {"sigmoid", {"base_lr", "gamma"}, sigmoid},
      {"plateau", {"base_lr", "gamma", "plateau_winsize"}, plateau, Steps::kDrops},
      {"multifixed", {"stagelr", "stageiter"}, multifixed},
      {"cosine", {"base_lr", "max_iter"}, cosine},
      {"onecycle", {"base_lr", "max_iter"}, onecycle},
  };
  return list;
}

bool is_set(const Config& config, const std::string& name) {
  if (name == "max_iter" && config.max_epoch() > 0) return true;
  const auto* field = config.GetDescriptor()->FindFieldByName(name);
  const auto* reflection = config.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(config, field) > 0 : reflection->HasField(config, field);
}

/// Options that no other Caffe has belong to one policy; with another policy they are an error. Caffe's own are
/// ignored, as in Caffe.
void check_strays(const Config& config) {
  for (const char* owner : {"cosine", "onecycle", "plateau"})
    for (const char* option : {"cosine_cycle", "cosine_cycle_mult", "onecycle_warmup", "onecycle_div",
                               "onecycle_final_div", "plateau_metric", "plateau_min_delta"})
      refuse_if(std::string(option).starts_with(std::string(owner) + "_") && config.lr_policy() != owner &&
                    is_set(config, option),
                option,
                std::string(option) + " belongs to lr_policy \"" + owner + "\", and this one is \"" +
                    config.lr_policy() + "\"");
}

}  // namespace

std::vector<std::string> all_lr_policies() {
  std::vector<std::string> names;
  for (const NamedPolicy& policy : policies()) names.push_back(policy.name);
  return names;
}

LrPolicy lr_policy_of(const Config& config) {
  const std::string list = "one of " + list_text(all_lr_policies()), &name = config.lr_policy();
  refuse_if(name.empty(), "lr_policy", "lr_policy is not set", list);
  check_known("lr_policy", name, all_lr_policies(), list);
  const NamedPolicy& policy =
      *std::find_if(policies().begin(), policies().end(), [&](const NamedPolicy& known) { return name == known.name; });
  for (const char* field : policy.needs)
    refuse_if(!is_set(config, field), "lr_policy", "lr_policy \"" + name + "\" needs " + field);
  LrPolicy made{policy.rate_of(config), policy.steps};
  check_strays(config);
  return made;
}

}  // namespace cortado
