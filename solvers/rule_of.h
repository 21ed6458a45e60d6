#pragma once

// Makes an UpdateRule of a rule's arithmetic, for the rules' .cu files. `Rule` is a small struct of the rule's constants:
//   explicit Rule(const caffe::SolverParameter&);
//   CORTADO_HD void operator()(const WeightStep& on, int64_t i) const;   // updates on.w[i] and on.history[.][i]

#include "core/for_each.h"
#include "solvers/update_rule.h"

namespace cortado {

template <typename Rule>
struct UpdateOne {
  Rule rule;
  WeightStep on;
  CORTADO_HD void operator()(int64_t i) const { rule(on, i); }
};

template <typename Rule>
struct UpdateTable {
  Rule rule;
  const WeightStep* weights;
  const IterationStep* step;
  CORTADO_HD void operator()(int64_t part, int64_t i) const {
    if (step->skip) return;
    WeightStep on = weights[part];
    on.rate = step->rate_of(on.rate);
    on.gradient_scale = step->gradient_scale;
    rule(on, i);
  }
};

inline double no_correction(const caffe::SolverParameter&, int64_t) { return 1; }

/// What a rule's file says of itself.
struct RuleWords {
  std::string name, help;
  int histories;
  void (*check)(const caffe::SolverParameter& config);
  double (*correction)(const caffe::SolverParameter& config, int64_t iter) = no_correction;
};

template <typename Rule>
UpdateRule rule_of(const RuleWords& words) {
  return {.name = words.name,
          .help = words.help,
          .histories = words.histories,
          .check = words.check,
          .correction = words.correction,
          .update =
              [](Context& context, const caffe::SolverParameter& config, const WeightStep& on) {
                for_each(context, on.count, UpdateOne<Rule>{Rule(config), on});
              },
          .update_all =
              [](Context& context, const caffe::SolverParameter& config, const WeightTable& on, const IterationStep* step) {
                for_each_piece(context, on.pieces, on.count, UpdateTable<Rule>{Rule(config), on.weights, step});
              }};
}

}  // namespace cortado
