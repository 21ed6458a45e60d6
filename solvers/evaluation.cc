#include "solvers/evaluation.h"

#include "core/files/file.h"
#include "core/log.h"
#include "solvers/run_conditions.h"
#include "solvers/snapshot.h"

namespace cortado {

namespace {

std::string name_in_snapshots(size_t test) { return "test:" + std::to_string(test); }

}  // namespace

Evaluation::Evaluation(SolverNets& nets, TrainState& state, Observers& observers)
    : state_(state), observers_(observers), dealt_out_(nets.dealt_out) {
  make_testers(nets);
  if (state.share.is_first()) find_metrics(nets);
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

void Evaluation::find_metrics(const SolverNets& nets) {
  std::vector<const std::vector<NetOutput>*> outputs;
  for (const auto& test : nets.tests) outputs.push_back(&test->outputs());
  if (!plan().plateau_metric.empty()) plateau_metric_ = find_metric(outputs, plan().plateau_metric, "plateau_metric");
  if (plan().early_stop)
    early_stop_.emplace(*plan().early_stop, find_metric(outputs, plan().early_stop->metric(), "early_stop.metric"));
  if (plan().keep_best) kept_best_.emplace(find_metric(outputs, *plan().keep_best, "keep_best"));
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

void Evaluation::keep_best(size_t index) {
  for (const Score& score : testers_[index].scores()) {
    const std::string name = (index > 0 ? "#" + std::to_string(index) + " " : "") + score.name;
    BestTestScore* best = nullptr;
    for (BestTestScore& known : best_)
      if (known.name == name) best = &known;
    if (!best)
      best_.push_back({name, score.value, state_.progress.iter});
    else if (is_cost(score) ? score.value < best->value : score.value > best->value)
      *best = {name, score.value, state_.progress.iter};
  }
}

/// An improvement requests a snapshot, so that the best weights are saved.
void Evaluation::use_score(size_t index, const TestCalls& calls) {
  const std::vector<Score>& scores = testers_[index].scores();
  if (plateau_metric_ && plateau_metric_->net == index) {
    const double value = scores[plateau_metric_->output].value;
    state_.schedule.rate().see_score(plateau_metric_->higher_is_better ? -value : value, state_.progress.iter);
  }
  const bool best = kept_best_ && kept_best_->metric().net == index &&
                    kept_best_->see(scores[kept_best_->metric().output].value, state_.progress.iter);
  const bool watches = early_stop_ && early_stop_->metric().net == index;
  const bool gain = watches && early_stop_->see(scores[early_stop_->metric().output].value);
  if (best || (gain && state_.progress.iter > 0)) calls.on_gain();
  if (watches) stops_early_ = early_stop_->is_over();
}

void Evaluation::log_best() const {
  if (!early_stop_) return;
  for (const BestTestScore& best : best_) {
    if (best.name != early_stop_->metric().name) continue;
    const SnapshotPaths paths = state_.config.snapshots.paths(best.iter);
    const std::string& weights = state_.average ? paths.average : paths.weights;
    log_info() << "The best " << best.name << " is " << Shown{best.value} << ", after " << best.iter << " iterations"
               << (file_exists(weights) ? ": " + weights : "");
  }
}

void Evaluation::save_tests(caffe::TrainingState& training) {
  for (size_t i = 0; i < testers_.size(); ++i) {
    training.add_test_pass(testers_[i].passes());
    save_layer_states(testers_[i].net(), name_in_snapshots(i), training);
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
    load_layer_states(training, name_in_snapshots(i), testers_[i].net());
  }
  for (const caffe::BestScore& score : training.best()) best_.push_back({score.name(), score.value(), score.iter()});
}

}  // namespace cortado
