#pragma once

// The test scores of a run, from its metrics: which there are, in which direction each is better, and the best values.

#include <string>
#include <vector>

#include "tools/runs/metrics_file.h"

namespace cortado::runs {

/// The name of an output of a test net, as in TestScore: "#1 accuracy". Of outputs with several values the first one's.
std::string score_name_of(const MetricRow& test, const std::string& output);

/// As the latest start recorded them. Names that it lacks, as all do in files of older programs, follow in the order of
/// their tests.
std::vector<TestScore> scores_in(const std::vector<MetricRow>& rows);

/// The best value of a score after at least one update.
struct BestScore {
  std::string name;
  double value = 0;
  int64_t iter = 0;
  bool lower_is_better = false, is_main = false;
};
/// "lowest" or "highest", as files and pages spell it.
const char* direction_word(bool lower_is_better);
std::vector<BestScore> best_scores(const std::vector<MetricRow>& rows);

/// The names of curves, of tests and of the training net's outputs, that are better the lower they are.
std::vector<std::string> names_of_lowest(const std::vector<MetricRow>& rows);

}  // namespace cortado::runs
