// A solver's tests, and what follows from their scores.

#include "core/file.h"
#include "core/log.h"
#include "solvers/solver.h"

namespace cortado {

void Solver::make_testers() {
  for (size_t i = 0; i < nets_.tests.size(); ++i) {
    if (config().test_epoch())
      testers_.emplace_back(*nets_.tests[i], nets_.tails[i].get(), int(i), nets_.test_records[i]);
    else
      testers_.emplace_back(*nets_.tests[i], int(i), config().test_iter(int(i)));
  }
  std::vector<const std::vector<NetOutput>*> outputs;
  for (const auto& test : nets_.tests) outputs.push_back(&test->outputs());
  if (!config().plateau_metric().empty())
    plateau_metric_ = find_metric(outputs, config().plateau_metric(), "plateau_metric");
  if (config().has_early_stop())
    early_stop_.emplace(config().early_stop(),
                        find_metric(outputs, config().early_stop().metric(), "early_stop.metric"));
}

void Solver::test() { test_all(); }

/// False: told to stop. A snapshot written meanwhile is of the moment before the first of these tests, which a resumed
/// run does again.
bool Solver::test_all() {
  const ShownAverage shown(average_ ? &*average_ : nullptr, true);
  before_test_.emplace();
  save_tests(*before_test_);
  bool whole = true;
  for (size_t i = 0; i < testers_.size() && whole; ++i) whole = run_test(i);
  if (!stop_ && !stops_early_) before_test_.reset();
  return whole;
}

bool Solver::run_test(size_t index) {
  Tester& tester = testers_[index];
  log_info() << "Iteration " << iter() << ", Testing net (#" << index << ")";
  if (tester.batches() == 0) return true;  // test_iter: 0 beside others
  const bool whole = tester.run([&](int done) {
    take_requests();
    tell([&](TrainObserver& observer) { observer.on_test_batch(progress_, int(index), done, tester.batches()); });
    return !stop_;
  });
  if (!whole) {
    log_info() << "Test interrupted.";
    return false;
  }
  if (config().test_compute_loss()) log_info() << "Test loss: " << Shown{tester.loss()};
  log_scores("Test", tester.scores());
  tester.say_once_what_differs();
  keep_best(index);
  use_score(index);
  tell([&](TrainObserver& observer) { observer.on_test(progress_, int(index), tester.scores(), best_); });
  return true;
}

void Solver::keep_best(size_t index) {
  for (const Score& score : testers_[index].scores()) {
    const std::string name = (index > 0 ? "#" + std::to_string(index) + " " : "") + score.name;
    BestTestScore* best = nullptr;
    for (BestTestScore& known : best_)
      if (known.name == name) best = &known;
    if (!best)
      best_.push_back({name, score.value, iter()});
    else if (is_cost(score) ? score.value < best->value : score.value > best->value)
      *best = {name, score.value, iter()};
  }
}

/// A gain is worth a snapshot, so that the best weights are there in the end.
void Solver::use_score(size_t index) {
  const std::vector<Score>& scores = testers_[index].scores();
  if (plateau_metric_ && plateau_metric_->net == index) {
    const double value = scores[plateau_metric_->output].value;
    schedule_.rate().see_score(plateau_metric_->higher_is_better ? -value : value, iter());
  }
  if (!early_stop_ || early_stop_->metric().net != index) return;
  const bool gain = early_stop_->see(scores[early_stop_->metric().output].value);
  if (gain && iter() > 0) try_snapshot();
  stops_early_ = early_stop_->is_over();
}

void Solver::say_best() const {
  for (const BestTestScore& best : best_) {
    if (best.name != early_stop_->metric().name) continue;
    const SnapshotPaths paths = snapshot_paths(config().snapshot_prefix(), best.iter);
    const std::string& weights = average_ ? paths.average : paths.weights;
    log_info() << "The best " << best.name << " is " << Shown{best.value} << ", after " << best.iter << " iterations"
               << (file_exists(weights) ? ": " + weights : "");
  }
}

}  // namespace cortado
