#pragma once

// A training, assembled from its parts: the nets, the state that iterations change, the tests, the snapshots and the
// loop. Each part has its own file. This class owns them, in the order of their dependencies.

#include <memory>
#include <string>
#include <vector>

#include "solvers/checkpointer.h"
#include "solvers/evaluation.h"
#include "solvers/observer.h"
#include "solvers/run_start.h"
#include "solvers/solver_nets.h"
#include "solvers/train_state.h"
#include "solvers/training_loop.h"

namespace cortado {

class Solver {
 public:
  /// `start` is the result of prepare_run(). `nets` are those that `config` names, built afterwards on one context,
  /// which must outlive this object. Loads weights or restores the snapshot. Throws Error.
  Solver(SolverConfig config, RunStart start, SolverNets nets);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// `observer` must outlive this object. Call this before run().
  void add_observer(TrainObserver* observer) { observers_.add(observer); }

  Outcome run(Requests& requests) { return loop_.run(requests); }   ///< TrainingLoop::run()
  bool step(int64_t iterations) { return loop_.step(iterations); }  ///< TrainingLoop::step()
  bool step(int64_t iterations, Requests& requests) { return loop_.step(iterations, requests); }
  void apply_update() { iteration_->apply_update(); }  ///< Iteration::apply_update()
  void test() { loop_.test(); }                        ///< TrainingLoop::test()
  void snapshot() { checkpoints_.write(); }            ///< Checkpointer::write()

  const SolverConfig& config() const { return config_; }
  const Progress& progress() const { return state_.progress; }
  int64_t iter() const { return state_.progress.iter; }
  const std::string& resumed_from() const { return checkpoints_.resumed_from(); }  ///< Checkpointer::resumed_from()
  double loss() const { return state_.progress.loss; }                             ///< of the latest iteration
  Net& net() { return *nets_.train; }
  std::vector<Tester>& testers() { return evaluation_.testers(); }

 private:
  SolverConfig config_;
  Observers observers_;
  SolverNets nets_;
  TrainState state_;
  std::unique_ptr<Iteration> iteration_;
  Evaluation evaluation_;
  Checkpointer checkpoints_;
  TrainingLoop loop_;
};

/// Creates the training of a solver: checks the solver, finds what to start from, builds the nets and assembles the
/// parts. Sets context.seed as prepare_run() does; `context` must outlive the solver. Throws Error.
Solver make_solver(SolverFile file, const SolverOptions& options, Context& context);

}  // namespace cortado
