#include "solvers/evaluation.h"

#include <algorithm>
#include <cmath>

#include "core/files/file.h"
#include "core/log.h"
#include "solvers/run_conditions.h"
#include "solvers/score_direction.h"
#include "solvers/snapshot.h"

namespace cortado {

namespace {

std::string name_in_snapshots(size_t test) { return "test:" + std::to_string(test); }

}  // namespace

Evaluation::Evaluation(SolverNets& nets, TrainState& state, Observers& observers)
    : state_(state), observers_(observers), dealt_out_(nets.dealt_out) {
  make_testers(nets);
  if (state.share.is_first()) find_scores(nets);
}

void Evaluation::make_testers(SolverNets& nets) {
  const ApVersion version = plan().ap_version;
  const TestShare share =
      dealt_out_ ? TestShare{state_.share.engine->rank(), state_.share.engine->ranks()} : TestShare{};
  for (size_t i = 0; i < nets.tests.size(); ++i) {
    if (plan().by_epoch)
      testers_.emplace_back(*nets.tests[i], nets.tails[i].get(), int(i), nets.test_records[i], version, share);
    else
      testers_.emplace_back(*nets.tests[i], int(i), plan().batches[i], version, share);
  }
}

void Evaluation::find_scores(const SolverNets& nets) {
  std::vector<const std::vector<NetOutput>*> outputs;
  for (const auto& test : nets.tests) outputs.push_back(&test->outputs());
  scores_ = test_scores(outputs, state_.config.file.solver);
  if (!plan().plateau_metric.empty()) plateau_score_ = find_score(scores_, plan().plateau_metric, "plateau_metric");
  if (plan().early_stop)
    early_stop_.emplace(*plan().early_stop, find_score(scores_, plan().early_stop->metric(), "early_stop.metric"));
  if (plan().keep_best) kept_best_.emplace(find_score(scores_, *plan().keep_best, "keep_best"));
}

void Evaluation::begin() {
  stops_early_ = false;
  before_.reset();
}

bool Evaluation::run(const TestCalls& calls) {
  const ShownAverage shown(state_.average ? &*state_.average : nullptr, true);
  before_.emplace();
  save_tests(*before_);
  bool whole = true;
  for (size_t i = 0; i < testers_.size() && whole; ++i) whole = run_one(i, calls);
  if (whole && !stops_early_) before_.reset();
  return whole;
}

bool Evaluation::run_one(size_t index, const TestCalls& calls) {
  Tester& tester = testers_[index];
  const Progress& progress = state_.progress;
  log_info() << "Iteration " << progress.iter << ", Testing net (#" << index << ")";
  if (tester.batches() == 0) return true;  // test_iter: 0, with other test nets
  const auto go_on = [&](int done) {
    const bool continues = calls.continues();
    observers_.tell(
        [&](TrainObserver& observer) { observer.on_test_batch(progress, int(index), done, tester.batches()); });
    return continues;
  };
  const bool whole = tester.run(go_on, calls.rounds);
  if (!whole) {
    log_info() << "Test interrupted.";
    return false;
  }
  if (plan().logs_loss) log_info() << "Test loss: " << Shown{tester.loss()};
  if (plan().logs_classes) log_average_precisions(tester.detections(), plan().ap_version);
  log_scores("Test", tester.scores());
  tester.report_differences_once();
  keep_best(index);
  use_score(index, calls);
  observers_.tell([&](TrainObserver& observer) { observer.on_test(progress, int(index), tester.scores(), best_); });
  return true;
}

/// The scores of the starting weights are not of this training.
void Evaluation::keep_best(size_t index) {
  if (state_.progress.iter == 0) return;
  for (const TestScore& score : scores_) {
    if (score.net != index) continue;
    for (int64_t k = 0; k < score.values; ++k) {
      const BestTestScore now{score.name, testers_[index].scores()[score.output + size_t(k)].value,
                              state_.progress.iter};
      const auto best = std::find_if(best_.begin(), best_.end(), [&](const auto& one) { return one.name == now.name; });
      if (std::isnan(now.value)) continue;
      if (best == best_.end())
        best_.push_back(now);
      else if (is_better(score.lower_is_better, now.value, best->value))
        *best = now;
    }
  }
}

/// An improvement requests a snapshot, so that the best weights are saved.
void Evaluation::use_score(size_t index, const TestCalls& calls) {
  const std::vector<Score>& scores = testers_[index].scores();
  if (plateau_score_ && plateau_score_->net == index) {
    const double value = scores[plateau_score_->output].value;
    state_.schedule.rate().see_score(plateau_score_->lower_is_better ? value : -value, state_.progress.iter);
  }
  const bool best = kept_best_ && kept_best_->score().net == index &&
                    kept_best_->see(scores[kept_best_->score().output].value, state_.progress.iter);
  const bool watches = early_stop_ && early_stop_->score().net == index;
  const bool gain = watches && early_stop_->see(scores[early_stop_->score().output].value, state_.progress.iter == 0);
  if (best || (gain && state_.progress.iter > 0)) calls.on_gain();
  if (watches) stops_early_ = early_stop_->is_over();
}

void Evaluation::log_best() {
  if (kept_best_ && kept_best_->iter() < 0)
    observers_.warn(state_.progress, "keep_best kept nothing: no test ran after an update");
  if (!early_stop_) return;
  const TestScore& score = early_stop_->score();
  const auto found = std::find_if(best_.begin(), best_.end(), [&](const auto& one) { return one.name == score.name; });
  std::optional<BestTestScore> best;
  if (found != best_.end()) best = *found;
  // Here the starting weights count: a training that does not get better than them stops.
  if (const auto value = early_stop_->best_at_start();
      value && (!best || !is_better(score.lower_is_better, best->value, *value)))
    best = BestTestScore{score.name, *value, 0};
  if (!best) return;
  const SnapshotPaths paths = state_.config.snapshots.paths(best->iter);
  const std::string& weights = state_.average ? paths.average : paths.weights;
  log_info() << "The best " << best->name << " is " << Shown{best->value} << ", after " << best->iter << " iterations"
             << (file_exists(weights) ? ": " + weights : "");
}

void Evaluation::save_tests(caffe::TrainingState& training) {
  for (size_t i = 0; i < testers_.size(); ++i) {
    training.add_test_pass(testers_[i].passes());
    Net& net = testers_[i].net();
    save_positions(net, name_in_snapshots(i), training);
    CarriedStates carried(net);
    carried.gather();
    carried.save(name_in_snapshots(i), training);
  }
  if (early_stop_) early_stop_->save(training);
  if (kept_best_) kept_best_->save(training);
}

void Evaluation::save(caffe::TrainingState& training) {
  if (before_)
    training.MergeFrom(*before_);
  else
    save_tests(training);
  for (const BestTestScore& best : best_) {
    caffe::BestScore& score = *training.add_best();
    score.set_name(best.name);
    score.set_value(best.value);
    score.set_iter(int(best.iter));
  }
}

void Evaluation::load(const caffe::TrainingState& training) {
  if (early_stop_) early_stop_->load(training);
  if (kept_best_) kept_best_->load(training);
  for (size_t i = 0; i < testers_.size(); ++i) {
    if (int(i) < training.test_pass_size()) testers_[i].set_passes(training.test_pass(int(i)));
    Net& net = testers_[i].net();
    load_positions(training, name_in_snapshots(i), net);
    CarriedStates(net).load(training, name_in_snapshots(i));
  }
  for (const caffe::BestScore& score : training.best())
    if (score.iter() > 0) best_.push_back({score.name(), score.value(), score.iter()});
}

}  // namespace cortado
