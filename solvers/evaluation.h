#pragma once

// The tests of a run: when they are due, the test nets' scores and the best of them, and what depends on scores:
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

/// Callbacks of a test.
struct TestCalls {
  std::function<bool()> continues;  ///< called before each batch; false ends the test
  std::function<void()> on_gain;    ///< the score of early_stop or keep_best improved; write a snapshot
  TestRounds* rounds = nullptr;     ///< leads the other ranks if they share the batches of tests
};

class Evaluation {
 public:
  /// The references must outlive this object. Throws FieldError if a metric of the solver is not a score of the test
  /// nets.
  Evaluation(SolverNets& nets, TrainState& state, Observers& observers);
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  /// Whether tests are due after so many iterations.
  bool is_due(int64_t iter) const { return plan().is_due(iter); }
  /// Runs all test nets. Returns false if `calls` ended the test. Until begin(), and if early_stop ends the run,
  /// snapshots have the state before the first of these tests, so a resumed run repeats them.
  bool run(const TestCalls& calls);
  bool is_dealt_out() const { return dealt_out_; }  ///< whether the ranks share the batches of tests
  bool stops_early() const { return stops_early_; }
  void set_stops_early(bool stops) { stops_early_ = stops; }  ///< on ranks other than the first
  /// To be called before more iterations: discards the state that an earlier test saved.
  void begin();

  /// With early_stop, logs the best value of its score. Warns if keep_best has none.
  void log_best();
  std::vector<Tester>& testers() { return testers_; }
  const std::vector<TestScore>& scores() const { return scores_; }  ///< of all tests; on the first rank
  /// With keep_best: the iteration with the best score, -1 before the first test.
  int64_t best_iter() const { return kept_best_ ? kept_best_->iter() : -1; }

  void save(caffe::TrainingState& training);
  void load(const caffe::TrainingState& training);

 private:
  void make_testers(SolverNets& nets);
  void find_scores(const SolverNets& nets);
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
  std::vector<TestScore> scores_;
  std::optional<TestScore> plateau_score_;
  std::optional<EarlyStop> early_stop_;
  std::optional<KeptBest> kept_best_;
  bool stops_early_ = false;
  std::optional<caffe::TrainingState> before_;  ///< the output of save_tests() before the current or interrupted tests
};

}  // namespace cortado
