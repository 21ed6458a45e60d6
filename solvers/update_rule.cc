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
            "leave momentum out, or choose SGD, Nesterov or Adam");
}

void check_mean_momentum(const caffe::SolverParameter& config) {
  check_fraction("momentum", config.momentum());
  refuse_if(config.momentum_policy() != "fixed", "momentum_policy",
            config.type() + " corrects its means for a momentum that stays as it is",
            "SGD, Nesterov, SAG and LARS take a momentum_policy");
}

void check_no_layer_rates(const caffe::SolverParameter& config) {
  refuse_if(config.larc() || config.local_lr_auto(), config.larc() ? "larc" : "local_lr_auto",
            config.type() + " has no rates of each layer's own",
            "they go with SGD, Nesterov and SAG; LARS and LAMB bring theirs");
}

void check_delta(const caffe::SolverParameter& config) {
  refuse_if(!(config.delta() > 0), "delta", config.type() + " divides by it: delta must be positive",
            "the default is 1e-8");
}

}  // namespace cortado
