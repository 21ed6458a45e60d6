#include "tools/runs/run_scores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "solvers/score_direction.h"

namespace cortado::runs {

namespace {

template <typename Item>
const Item* item_named(const std::vector<Item>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Item& one) { return one.name == name; });
  return found == list.end() ? nullptr : &*found;
}

/// "classes[2]", the third value of an output, becomes "classes".
std::string without_index(const MetricRow& row, const std::string& output) {
  if (!output.ends_with(']')) return output;
  const std::string stem = output.substr(0, output.rfind('['));
  const bool is_element =
      std::any_of(row.outputs.begin(), row.outputs.end(), [&](const auto& one) { return one.first == stem; });
  return is_element ? stem : output;
}

}  // namespace

std::string score_name_of(const MetricRow& test, const std::string& output) {
  return name_in_tests(test.net, without_index(test, output));
}

std::vector<TestScore> scores_in(const std::vector<MetricRow>& rows) {
  std::vector<TestScore> scores;
  std::vector<std::string> others;
  for (const MetricRow& row : rows) {
    if (row.event == "run_start" && !row.scores.empty()) scores = row.scores;
    if (row.event != "test") continue;
    for (const auto& output : row.outputs) {
      const std::string name = score_name_of(row, output.first);
      if (!item_named(scores, name) && std::find(others.begin(), others.end(), name) == others.end())
        others.push_back(name);
    }
  }
  const bool is_old = scores.empty();
  for (TestScore& score : test_scores_by_name(others)) {
    if (item_named(scores, score.name)) continue;
    score.is_main = score.is_main && is_old;
    scores.push_back(std::move(score));
  }
  return scores;
}

const char* direction_word(bool lower_is_better) { return lower_is_better ? "lowest" : "highest"; }

std::vector<BestScore> best_scores(const std::vector<MetricRow>& rows) {
  const std::vector<TestScore> scores = scores_in(rows);
  std::map<std::string, BestScore> found;
  for (const TestScore& score : scores) found[score.name] = {score.name, NAN, 0, score.lower_is_better, score.is_main};
  for (const MetricRow& row : rows) {
    if (row.event != "test" || row.iter == 0) continue;
    for (const auto& [output, value] : row.outputs) {
      BestScore& best = found[score_name_of(row, output)];
      if (!std::isfinite(value)) continue;
      if (!std::isnan(best.value) && !is_better(best.lower_is_better, value, best.value)) continue;
      best.value = value;
      best.iter = row.iter;
    }
  }
  std::vector<BestScore> best;
  for (const TestScore& score : scores)
    if (!std::isnan(found[score.name].value)) best.push_back(found[score.name]);
  return best;
}

std::vector<std::string> names_of_lowest(const std::vector<MetricRow>& rows) {
  const std::vector<TestScore> scores = scores_in(rows);
  std::set<std::string> names;
  for (const MetricRow& row : rows) {
    if (row.event != "test" && row.event != "train") continue;
    for (const auto& [output, value] : row.outputs) {
      const TestScore* score = item_named(scores, score_name_of(row, output));
      if (score ? score->lower_is_better : is_lower_better(std::string_view(output)))
        names.insert(name_in_tests(row.net, output));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace cortado::runs
