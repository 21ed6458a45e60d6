#pragma once

// Whether a score is better the lower or the higher it is. This is the only place that decides it: the training writes
// the decision into its metrics, and all that compare scores read it there.

#include <string>
#include <string_view>
#include <vector>

#include "net/net.h"
#include "proto/cortado.pb.h"
#include "solvers/observer.h"

namespace cortado {

/// By a word of the name: lower is better for "test_error", "top5Err", "valMAE" and "total_loss".
bool is_lower_better(std::string_view name);

/// By the weight with which training minimizes the output, else by the type of its layer, else by its name.
bool is_lower_better(const NetOutput& output);

/// The scores of the test nets, in order. The main one is that of keep_best, else of early_stop; else the first that is
/// better the higher it is, else the first that training does not minimize, else the first. The solver's
/// lower_is_better, higher_is_better and early_stop.higher_is_better override the rules above. Throws FieldError if
/// they name what is not a score, or contradict each other.
std::vector<TestScore> test_scores(const std::vector<const std::vector<NetOutput>*>& tests,
                                   const caffe::SolverParameter& solver);

/// The scores of a record without directions, by their names.
std::vector<TestScore> test_scores_by_name(const std::vector<std::string>& names);

/// Finds the score that `field` names; "" means the only one. Throws FieldError about `field`.
const TestScore& find_score(const std::vector<TestScore>& scores, const std::string& name, const std::string& field);

}  // namespace cortado
