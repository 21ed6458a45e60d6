#include "solvers/update_rule.h"

#include <map>

#include "core/text/text.h"
#include "solvers/field_checks.h"

namespace cortado {

namespace {

std::map<std::string, RegisterUpdateRule::Make>& rules() {
  static std::map<std::string, RegisterUpdateRule::Make> map;
  return map;
}

}  // namespace

RegisterUpdateRule::RegisterUpdateRule(const std::string& name, Make make) { rules().emplace(name, make); }

std::shared_ptr<const UpdateRule> make_update_rule(const caffe::SolverParameter& config) {
  const std::vector<std::string> names = all_update_rules();
  check_known("type", config.type(), names, "one of " + list_text(names), "solver type");
  return rules().at(config.type())(config);
}

std::vector<std::string> all_update_rules() {
  std::vector<std::string> names;
  for (const auto& [name, make] : rules()) names.push_back(name);
  return names;
}

void check_no_momentum(const caffe::SolverParameter& config) {
  refuse_if(config.momentum() != 0, "momentum", config.type() + " has no momentum",
            "remove momentum, or use SGD, Nesterov or Adam");
}

void check_mean_momentum(const caffe::SolverParameter& config) {
  check_fraction("momentum", config.momentum());
  refuse_if(config.momentum_policy() != "fixed", "momentum_policy", config.type() + " requires a constant momentum",
            "use momentum_policy with SGD, Nesterov, SAG or LARS");
}

void check_no_layer_rates(const caffe::SolverParameter& config) {
  refuse_if(config.larc() || config.local_lr_auto(), config.larc() ? "larc" : "local_lr_auto",
            config.type() + " does not support larc or local_lr_auto",
            "use SGD, Nesterov or SAG, or LARS or LAMB without these options");
}

void check_delta(const caffe::SolverParameter& config) {
  refuse_if(!(config.delta() > 0), "delta", config.type() + " divides by delta, which must be positive",
            "the default is 1e-8");
}

}  // namespace cortado
