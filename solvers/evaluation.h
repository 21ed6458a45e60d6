#pragma once

// The tests of a run: when they are due, the test nets' scores and the best of them, and what follows from scores,
// early_stop, keep_best and lr_policy plateau.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "solvers/early_stop.h"
#include "solvers/observer.h"
#include "solvers/solver_nets.h"
#include "solvers/tester.h"
#include "solvers/train_state.h"

namespace cortado {

/// What a test asks of the run around it.
struct TestCalls {
  std::function<bool()> continues;  ///< before each batch; false ends the test
  std::function<void()> on_gain;    ///< the score of early_stop or keep_best has gained: worth a snapshot
  TestRounds* rounds = nullptr;     ///< leads other ranks, where tests are dealt out
};

class Evaluation {
 public:
  /// References outlive this. Throws FieldError where a metric of the solver is no score of the test nets.
  Evaluation(SolverNets& nets, TrainState& state, Observers& observers);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Whether tests are to run once so many iterations are done.
  bool is_due(int64_t iter) const { return plan().is_due(iter); }
  /// Runs all test nets. False: `calls` ended it. Until begin() a snapshot is then, and where early_stop ends the run,
  /// of the moment before the first of these tests, which a resumed run does again.
  bool run(const TestCalls& calls);
  bool is_dealt_out() const { return dealt_out_; }  ///< whether the ranks share the batches of tests
  bool stops_early() const { return stops_early_; }
  void set_stops_early(bool stops) { stops_early_ = stops; }  ///< of a rank that heard so from the first one
  /// Iterations follow: an earlier test's end is forgotten.
  void begin();

  /// With early_stop, one log line about the best value of its score.
  void log_best() const;
  std::vector<Tester>& testers() { return testers_; }
  /// With keep_best: the iteration at which its score was best, -1 before the first one.
  int64_t best_iter() const { return kept_best_ ? kept_best_->iter() : -1; }

  void save(caffe::TrainingState& training);
  void load(const caffe::TrainingState& training);

 private:
  void make_testers(SolverNets& nets);
  void find_metrics(const SolverNets& nets);
  void save_tests(caffe::TrainingState& training);
  bool run_one(size_t index, const TestCalls& calls);
  void keep_best(size_t index);
  void use_score(size_t index, const TestCalls& calls);
  const TestPlan& plan() const { return state_.config.tests; }

  TrainState& state_;
  Observers& observers_;
  std::vector<Tester> testers_;
  bool dealt_out_ = false;
  std::vector<BestTestScore> best_;
  std::optional<Metric> plateau_metric_;
  std::optional<EarlyStop> early_stop_;
  std::optional<KeptBest> kept_best_;
  bool stops_early_ = false;
  std::optional<caffe::TrainingState> before_;  ///< what save_tests() said before the tests that run or were ended
};

}  // namespace cortado
