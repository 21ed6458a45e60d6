#pragma once

// Implements UpdateRule for the arithmetic of a rule, for the rules' .cu files. `Rule` is a small struct of the rule's
// constants:
//   static constexpr int kHistories;
//   explicit Rule(const caffe::SolverParameter&);   // throws FieldError for options that it does not support
//   CORTADO_HD float operator()(const WeightStep& on, int64_t i) const;   // updates on.history[.][i]; returns what is
//                                                                         // to be subtracted from on.w[i]
// A rule whose rate depends on whole weights also has
//   CORTADO_HD WeightSums sums(const WeightStep& on, int64_t i) const;   // of element i; may write on.history[.][i]
//   CORTADO_HD float rate(const WeightStep& on, const WeightSums& total) const;   // the new on.rate; once per weight
// A rule with bias correction has
//   Correction correction(int64_t iter) const;   // after `iter` updates

#include "core/loops/reduce_pieces.h"
#include "solvers/field_checks.h"
#include "solvers/update_rule.h"

namespace cortado {

template <typename Rule>
concept LayerWise = requires(const Rule& rule, const WeightStep& on, const WeightSums& total) {
  rule.sums(on, int64_t(0));
  rule.rate(on, total);
};

template <typename Rule>
concept CorrectsMeans = requires(const Rule& rule) {
  rule.correction(int64_t(0));
};

/// The sums of one weight's elements.
template <typename Rule>
struct SumOne {
  Rule rule;
  WeightStep on;
  bool skip;
  CORTADO_HD WeightSums operator()(int64_t i) const { return skip ? WeightSums{} : rule.sums(on, i); }
};

template <typename Rule>
struct UpdateOne {
  Rule rule;
  WeightStep on;
  CORTADO_HD void operator()(int64_t i) const { on.w[i] -= rule(on, i); }
};

template <typename Rule>
struct UpdateAndKeep {
  Rule rule;
  WeightStep on;
  CORTADO_HD void operator()(int64_t i) const {
    const float update = rule(on, i);
    on.w[i] -= update;
    on.kept[i] = update;
  }
};

template <typename Rule>
struct UpdateUnlessSkipped {
  Rule rule;
  WeightStep on;
  bool skip;
  UpdatedCopy copy;
  CORTADO_HD void operator()(int64_t i) const {
    if (skip) return;
    const float update = rule(on, i);
    on.w[i] -= update;
    if (on.kept) on.kept[i] = update;
    if (copy.to) copy.put(i, on.w[i]);
  }
};

/// The weight, whichever part is computed.
template <typename Rule>
struct SumItself {
  SumOne<Rule> one;
  CORTADO_HD SumOne<Rule> operator()(int64_t) const { return one; }
};

template <typename Rule>
struct SumTable {
  Rule rule;
  WeightTable table;
  const IterationStep* step;
  /// Sums read weights and gradients. A history that the rule writes at the same time is not counted.
  Traffic traffic(int64_t n) const {
    return {2 * table.values * int64_t(sizeof(float)), n * int64_t(sizeof(WeightSums))};
  }
  CORTADO_HD SumOne<Rule> operator()(int64_t part) const {
    return {rule, step->of(table.weights[part]), step->skip != 0};
  }
};

template <typename Rule>
struct RateTable {
  Rule rule;
  WeightTable table;
  const IterationStep* step;
  Traffic traffic(int64_t n) const { return {table.count * int64_t(sizeof(WeightSums)), n * int64_t(sizeof(float))}; }
  CORTADO_HD void operator()(int64_t part) const {
    if (step->skip) return;
    WeightSums total{};
    for (int64_t k = table.first_piece[part]; k < table.first_piece[part + 1]; ++k) total += table.sums[k];
    table.rates[part] = rule.rate(step->of(table.weights[part]), total);
  }
};

template <typename Rule>
struct UpdateTable {
  Rule rule;
  WeightTable table;
  const IterationStep* step;
  bool own_rates;
  /// Reads gradients, reads and writes weights and histories, writes copies.
  Traffic traffic(int64_t) const {
    const int64_t each = table.values * int64_t(sizeof(float));
    return {(2 + table.histories) * each, (1 + table.histories) * each + table.copied};
  }
  CORTADO_HD UpdateUnlessSkipped<Rule> operator()(int64_t part) const {
    WeightStep on = step->of(table.weights[part]);
    if (own_rates) on.rate = table.rates[part];
    return {rule, on, step->skip != 0, table.copies ? table.copies[part] : UpdatedCopy()};
  }
};

template <typename Rule>
class RuleOf : public UpdateRule {
 public:
  explicit RuleOf(const caffe::SolverParameter& config)
      : UpdateRule(config.type(), Rule::kHistories, LayerWise<Rule>), rule_(config) {}

  Correction correction(int64_t iter) const override {
    if constexpr (CorrectsMeans<Rule>)
      return rule_.correction(iter);
    else
      return {};
  }

  void update(Context& context, const WeightStep& on, WeightSums* scratch) const override {
    WeightStep step = on;
    if constexpr (LayerWise<Rule>) {
      const int64_t pieces = pieces_of(on.count);
      reduce_pieces(context, PiecesOfOne{on.count}, pieces, SumItself<Rule>{{rule_, on, false}}, scratch);
      WeightSums total{};
      for (int64_t k = 0; k < pieces; ++k) total += scratch[k];
      step.rate = rule_.rate(on, total);
    }
    if (on.kept)
      for_each(context, on.count, UpdateAndKeep<Rule>{rule_, step});
    else
      for_each(context, on.count, UpdateOne<Rule>{rule_, step});
  }

  void update_all(Context& context, const WeightTable& on, const IterationStep* step) const override {
    if constexpr (LayerWise<Rule>) {
      reduce_pieces(context, ListedPieces{on.pieces}, on.count, SumTable<Rule>{rule_, on, step}, on.sums);
      for_each(context, on.weight_count, RateTable<Rule>{rule_, on, step});
    }
    for_each_piece(context, on.pieces, on.count, UpdateTable<Rule>{rule_, on, step, LayerWise<Rule>});
  }

 private:
  const Rule rule_;
};

template <typename Rule>
std::shared_ptr<const UpdateRule> make_rule(const caffe::SolverParameter& config) {
  return std::make_shared<RuleOf<Rule>>(config);
}

}  // namespace cortado
