#pragma once

// Makes an UpdateRule of a rule's arithmetic, for the rules' .cu files. `Rule` is a small struct of the rule's
// constants:
//   explicit Rule(const caffe::SolverParameter&);
//   CORTADO_HD void operator()(const WeightStep& on, int64_t i) const;   // updates on.w[i] and on.history[.][i]
// One whose rate depends on whole weights also has
//   CORTADO_HD WeightSums sums(const WeightStep& on, int64_t i) const;   // of element i; may write on.history[.][i]
//   CORTADO_HD float rate(const WeightStep& on, const WeightSums& total) const;   // what on.rate becomes; once per
//   weight

#include "core/loops/reduce_pieces.h"
#include "solvers/update_rule.h"

namespace cortado {

template <typename Rule>
concept LayerWise = requires(const Rule& rule, const WeightStep& on, const WeightSums& total) {
  rule.sums(on, int64_t(0));
  rule.rate(on, total);
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
  CORTADO_HD void operator()(int64_t i) const { rule(on, i); }
};

template <typename Rule>
struct UpdateUnlessSkipped {
  UpdateOne<Rule> update;
  bool skip;
  UpdatedCopy copy;
  CORTADO_HD void operator()(int64_t i) const {
    if (skip) return;
    update(i);
    if (copy.to) copy.put(i, update.on.w[i]);
  }
};

/// The same weight, whatever the part.
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
  /// Sums look at weights and gradients; a rule that keeps a history meanwhile says nothing of it.
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
  /// Gradients are read, weights and histories read and written, copies written.
  Traffic traffic(int64_t) const {
    const int64_t each = table.values * int64_t(sizeof(float));
    return {(2 + table.histories) * each, (1 + table.histories) * each + table.copied};
  }
  CORTADO_HD UpdateUnlessSkipped<Rule> operator()(int64_t part) const {
    WeightStep on = step->of(table.weights[part]);
    if (own_rates) on.rate = table.rates[part];
    return {{rule, on}, step->skip != 0, table.copies ? table.copies[part] : UpdatedCopy()};
  }
};

template <typename Rule>
void update_one(Context& context, const caffe::SolverParameter& config, const WeightStep& on, WeightSums* scratch) {
  const Rule rule(config);
  WeightStep step = on;
  if constexpr (LayerWise<Rule>) {
    const int64_t pieces = pieces_of(on.count);
    reduce_pieces(context, PiecesOfOne{on.count}, pieces, SumItself<Rule>{{rule, on, false}}, scratch);
    WeightSums total{};
    for (int64_t k = 0; k < pieces; ++k) total += scratch[k];
    step.rate = rule.rate(on, total);
  }
  for_each(context, on.count, UpdateOne<Rule>{rule, step});
}

template <typename Rule>
void update_table(Context& context, const caffe::SolverParameter& config, const WeightTable& on,
                  const IterationStep* step) {
  const Rule rule(config);
  if constexpr (LayerWise<Rule>) {
    reduce_pieces(context, ListedPieces{on.pieces}, on.count, SumTable<Rule>{rule, on, step}, on.sums);
    for_each(context, on.weight_count, RateTable<Rule>{rule, on, step});
  }
  for_each_piece(context, on.pieces, on.count, UpdateTable<Rule>{rule, on, step, LayerWise<Rule>});
}

inline Correction no_correction(const caffe::SolverParameter&, int64_t) { return {}; }

/// What a rule's file says of itself.
struct RuleWords {
  std::string name, help;
  int histories;
  void (*check)(const caffe::SolverParameter& config);
  Correction (*correction)(const caffe::SolverParameter& config, int64_t iter) = no_correction;
};

template <typename Rule>
UpdateRule rule_of(const RuleWords& words) {
  return {.name = words.name,
          .help = words.help,
          .histories = words.histories,
          .layer_wise = LayerWise<Rule>,
          .check = words.check,
          .correction = words.correction,
          .update = update_one<Rule>,
          .update_all = update_table<Rule>};
}

}  // namespace cortado
