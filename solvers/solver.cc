#include "solvers/solver.h"

#include "core/log.h"
#include "solvers/check.h"
#include "solvers/lr_policies.h"
#include "solvers/rank_start.h"
#include "solvers/test_share.h"

namespace cortado {

namespace {

/// `file` with the max_iter that max_epoch comes to.
SolverFile with_max_iter(SolverFile file, const Net& train) {
  if (file.solver.max_epoch() <= 0) return file;
  at_its_field(file, [&] {
    file.solver.set_max_iter(max_iter_of_epochs(file.solver, train));
    log_info() << "max_epoch: " << file.solver.max_epoch() << " takes max_iter: " << file.solver.max_iter();
    checked_lr_policy(file.solver);
  });
  return file;
}

SolverNets with_weights(SolverNets nets, const RunStart& start, Observers& observers) {
  load_starting_weights(start.weights, nets);
  if (!nets.train->plan().graph.options.freeze.empty() && start.weights.empty() && !start.snapshot)
    observers.warn({}, "layers are frozen, and no weights are given: they stay what their fillers made of them");
  return nets;
}

}  // namespace

Solver::Solver(SolverFile file, RunStart start, SolverNets nets)
    : file_(with_max_iter(std::move(file), *nets.train)),
      observers_(std::move(start.warnings)),
      nets_(with_weights(std::move(nets), start, observers_)),
      state_(file_.solver, *nets_.train, start.share),
      evaluation_(at_its_field(file_, [&] { return Evaluation(nets_, state_, observers_); })),
      checkpoints_(state_, evaluation_, observers_),
      loop_(state_, evaluation_, checkpoints_, observers_) {
  ranks::Engine* engine = start.share.engine;
  if (engine && start.share.is_first()) tell_conditions(*engine, *nets_.train, start.share.shards);
  if (engine && state_.device) state_.device->connect(start.device_engine);
  checkpoints_.begin(std::move(start));
  if (engine) share_state(*engine, state_);
  if (nets_.dealt_out) share_tests(*engine, nets_, evaluation_);
  log_info() << "Solver scaffolding done.";
}

Solver make_solver(SolverFile file, const SolverOptions& options, Context& context) {
  require_valid(file);
  RunStart start = prepare_run(file, options, context);
  SolverNets nets = make_solver_nets(file, options, context);
  return Solver(std::move(file), std::move(start), std::move(nets));
}

}  // namespace cortado
