#include "solvers/early_stop.h"

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

bool is_cost(const Score& score) { return score.loss_weight != 0 || score.name.find("loss") != std::string::npos; }
bool is_cost(const NetOutput& output) { return is_cost(Score{output.name, 0, output.loss_weight}); }

Metric find_metric(const std::vector<const std::vector<NetOutput>*>& tests, const std::string& name,
                   const std::string& field) {
  std::vector<Metric> known;
  std::vector<std::string> names;
  for (size_t net = 0; net < tests.size(); ++net) {
    size_t at = 0;
    for (const NetOutput& output : *tests[net]) {
      const std::string called = (net > 0 ? "#" + std::to_string(net) + " " : "") + output.name;
      if (output.scores() == 1) {
        known.push_back({net, at, called, !is_cost(output)});
        names.push_back(called);
      }
      at += size_t(output.scores());
    }
  }
  if (name.empty() && known.size() == 1) return known[0];
  if (name.empty())
    throw FieldError(field, "no score is named, and the test nets have " + (names.empty() ? "none" : list_text(names)),
                     "set " + field + " to one of them");
  for (const Metric& metric : known)
    if (metric.name == name) return metric;
  const std::string guess = did_you_mean(name, names);
  throw FieldError(field, "no test net has a score '" + name + "'",
                   !guess.empty()  ? guess
                   : names.empty() ? "add a layer with a scalar output, such as Accuracy"
                                   : "the scores are " + list_text(names));
}

EarlyStop::EarlyStop(const caffe::EarlyStopParameter& options, Metric metric)
    : options_(options), metric_(std::move(metric)) {
  if (options_.has_higher_is_better()) metric_.higher_is_better = options_.higher_is_better();
}

bool EarlyStop::see(double value) {
  const double gain = metric_.higher_is_better ? value - best_ : best_ - value;
  if (std::isnan(value) || (any_ && !(gain > options_.min_delta()))) {
    ++without_gain_;
    return false;
  }
  any_ = true;
  best_ = value;
  without_gain_ = 0;
  return true;
}

void EarlyStop::save(caffe::TrainingState& training) const {
  if (any_) training.set_early_stop_best(best_);
  training.set_tests_without_gain(without_gain_);
}

void EarlyStop::load(const caffe::TrainingState& training) {
  any_ = training.has_early_stop_best();
  best_ = training.early_stop_best();
  without_gain_ = training.tests_without_gain();
}

}  // namespace cortado
