#include "solvers/score_direction.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr std::array kLowWords = {
    "aepe",     "brier",     "cer",        "chamfer", "cost",  "costs",  "deviation",  "discrepancy", "dist",
    "distance", "distances", "divergence", "ece",     "eer",   "energy", "entropy",    "epe",         "err",
    "error",    "errors",    "errs",       "far",     "fid",   "fnr",    "fpr",        "frr",         "hamming",
    "kld",      "loss",      "losses",     "lpips",   "mae",   "mape",   "miss",       "misses",      "mistakes",
    "mpjpe",    "mrae",      "mse",        "msle",    "nll",   "nrmse",  "perplexity", "ppl",         "regret",
    "residual", "rmse",      "rmsle",      "rms",     "smape", "sse",    "ter",        "wer"};

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }

/// The words of "valLoss/top5_err": "val", "loss", "top", "err". "valMAE" has "val" and "mae".
std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool begins =
        is_upper(name[i]) && i > 0 &&
        (!is_upper(name[i - 1]) || (i + 1 < name.size() && is_letter(name[i + 1]) && !is_upper(name[i + 1])));
    if (is_letter(name[i]) && (!inside || begins)) words.emplace_back();
    inside = is_letter(name[i]);
    if (inside) words.back() += lower_case(name[i]);
  }
  return words;
}

bool is_low_word(const std::string& word) {
  return word.ends_with("loss") || word.ends_with("error") ||
         std::find(kLowWords.begin(), kLowWords.end(), word) != kLowWords.end();
}

/// A field of the solver that sets the direction of a score.
struct DirectionField {
  std::string name, field;
  bool lower;
  std::string named_by;  ///< the field with the score's name
};

std::vector<DirectionField> direction_fields(const caffe::SolverParameter& solver) {
  std::vector<DirectionField> list;
  const auto add = [&](const auto& names, const std::string& field, bool lower) {
    for (int i = 0; i < names.size(); ++i) {
      const std::string one = field + "[" + std::to_string(i) + "]";
      list.push_back({names[i], one, lower, one});
    }
  };
  add(solver.lower_is_better(), "lower_is_better", true);
  add(solver.higher_is_better(), "higher_is_better", false);
  if (const auto& stop = solver.early_stop(); stop.has_higher_is_better())
    list.push_back({stop.metric(), "early_stop.higher_is_better", !stop.higher_is_better(), "early_stop.metric"});
  return list;
}

bool is_plain(const TestScore& score) { return score.values == 1; }

/// Marks the score that represents the training.
void choose_main(std::vector<TestScore>& scores, const caffe::SolverParameter& solver) {
  const auto choose = [&](const auto& is_wanted) {
    const auto found = std::find_if(scores.begin(), scores.end(), is_wanted);
    if (found != scores.end()) found->is_main = true;
    return found != scores.end();
  };
  for (const std::string& name : {solver.keep_best(), solver.early_stop().metric()})
    if (!name.empty() && choose([&](const TestScore& one) { return one.name == name; })) return;
  if (choose([](const TestScore& one) { return is_plain(one) && !one.lower_is_better; })) return;
  if (choose([](const TestScore& one) { return is_plain(one) && !one.is_minimized; })) return;
  choose([](const TestScore&) { return true; });
}

}  // namespace

bool is_lower_better(std::string_view name) {
  const std::vector<std::string> words = words_of_name(name);
  return std::any_of(words.begin(), words.end(), is_low_word);
}

bool is_lower_better(const NetOutput& output) {
  if (output.loss_weight != 0) return output.loss_weight > 0;
  const LayerType* type = find_layer_type(output.type);
  if (type && (type->loss || type->higher_is_better)) return type->loss.has_value();
  return is_lower_better(output.name);
}

std::vector<TestScore> test_scores(const std::vector<const std::vector<NetOutput>*>& tests,
                                   const caffe::SolverParameter& solver) {
  std::vector<TestScore> scores;
  for (size_t net = 0; net < tests.size(); ++net) {
    size_t at = 0;
    for (const NetOutput& output : *tests[net]) {
      scores.push_back({.name = name_in_tests(int64_t(net), output.name),
                        .net = net,
                        .output = at,
                        .values = output.scores(),
                        .lower_is_better = is_lower_better(output),
                        .is_minimized = output.loss_weight > 0});
      at += size_t(output.scores());
    }
  }
  std::vector<std::pair<const TestScore*, bool>> known;
  for (const DirectionField& given : direction_fields(solver)) {
    const TestScore& score = find_score(scores, given.name, given.named_by);
    for (const auto& [earlier, lower] : known)
      if (earlier == &score && lower != given.lower)
        throw FieldError(given.field, "'" + score.name + "' is better both the lower and the higher it is",
                         "name it once");
    known.emplace_back(&score, given.lower);
    scores[size_t(&score - scores.data())].lower_is_better = given.lower;
  }
  choose_main(scores, solver);
  return scores;
}

std::vector<TestScore> test_scores_by_name(const std::vector<std::string>& names) {
  std::vector<TestScore> scores;
  for (const std::string& name : names) {
    const bool lower = is_lower_better(std::string_view(name));
    scores.push_back({.name = name, .lower_is_better = lower, .is_minimized = name.find("loss") != name.npos});
  }
  choose_main(scores, {});
  return scores;
}

const TestScore& find_score(const std::vector<TestScore>& scores, const std::string& name, const std::string& field) {
  std::vector<std::string> names;
  const TestScore* only = nullptr;
  for (const TestScore& score : scores) {
    if (!is_plain(score)) continue;
    if (score.name == name) return score;
    names.push_back(score.name);
    only = &score;
  }
  if (name.empty() && names.size() == 1) return *only;
  if (name.empty())
    throw FieldError(field, "no score is named, and the test nets have " + (names.empty() ? "none" : list_text(names)),
                     "set " + field + " to one of them");
  const std::string guess = did_you_mean(name, names);
  throw FieldError(field, "no test net has a score '" + name + "'",
                   !guess.empty()  ? guess
                   : names.empty() ? "add a layer with a scalar output, such as Accuracy"
                                   : "the scores are " + list_text(names));
}

}  // namespace cortado
