#include "solvers/update_rule.h"

#include <map>

#include "core/error.h"

namespace cortado {

namespace {

std::map<std::string, UpdateRule>& rules() {
  static std::map<std::string, UpdateRule> map;
  return map;
}

}  // namespace

RegisterUpdateRule::RegisterUpdateRule(UpdateRule rule) { rules().emplace(rule.name, rule); }

const UpdateRule* find_update_rule(const std::string& name) {
  const auto found = rules().find(name);
  return found == rules().end() ? nullptr : &found->second;
}

std::vector<const UpdateRule*> all_update_rules() {
  std::vector<const UpdateRule*> list;
  for (const auto& [name, rule] : rules()) list.push_back(&rule);
  return list;
}

void check_no_momentum(const caffe::SolverParameter& config) {
  if (config.momentum() == 0) return;
  throw FieldError("momentum", config.type() + " has no momentum",
                   "leave momentum out, or choose SGD, Nesterov or Adam");
}

void check_mean_momentum(const caffe::SolverParameter& config) {
  check_fraction("momentum", config.momentum());
  if (config.momentum_policy() == "fixed") return;
  throw FieldError("momentum_policy", config.type() + " corrects its means for a momentum that stays as it is",
                   "SGD, Nesterov, SAG and LARS take a momentum_policy");
}

void check_no_layer_rates(const caffe::SolverParameter& config) {
  if (!config.larc() && !config.local_lr_auto()) return;
  throw FieldError(config.larc() ? "larc" : "local_lr_auto", config.type() + " has no rates of each layer's own",
                   "they go with SGD, Nesterov and SAG; LARS and LAMB bring theirs");
}

void check_delta(const caffe::SolverParameter& config) {
  if (config.delta() > 0) return;
  throw FieldError("delta", config.type() + " divides by it: delta must be positive", "the default is 1e-8");
}

void check_fraction(const char* field, float value) {
  if (value >= 0 && value < 1) return;
  throw FieldError(field, std::string(field) + " is a fraction to keep: it must be at least 0 and less than 1");
}

}  // namespace cortado
