#include "solvers/solver.h"

#include "core/log.h"
#include "solvers/rank_start.h"
#include "solvers/rank_test.h"

namespace cortado {

namespace {

/// Sets max_iter from max_epoch.
SolverConfig with_max_iter(SolverConfig config, const Net& train) {
  const int64_t epochs = config.max_epoch();
  if (epochs <= 0) return config;
  config.at_its_field([&] {
    const int iterations = max_iter_of_epochs(epochs, config.iteration, train);
    log_info() << "max_epoch: " << epochs << " takes max_iter: " << iterations;
    config.set_max_iter(iterations);
  });
  return config;
}

SolverNets with_weights(SolverNets nets, const RunStart& start, Observers& observers) {
  load_starting_weights(start.weights, nets);
  if (!nets.train->plan().graph.options.freeze.empty() && start.weights.empty() && !start.snapshot)
    observers.warn({}, "layers are frozen, but no weights are loaded: they keep the values of their fillers");
  return nets;
}

}  // namespace

Solver::Solver(SolverConfig config, RunStart start, SolverNets nets)
    : config_(with_max_iter(std::move(config), *nets.train)),
      observers_(std::move(start.warnings)),
      nets_(with_weights(std::move(nets), start, observers_)),
      state_(config_, *nets_.train, start.share),
      iteration_(make_iteration(state_, observers_)),
      evaluation_(config_.at_its_field([&] { return Evaluation(nets_, state_, observers_); })),
      checkpoints_(state_, *iteration_, evaluation_, observers_),
      loop_(state_, *iteration_, evaluation_, checkpoints_, observers_) {
  ranks::Engine* engine = start.share.engine;
  if (engine && start.share.is_first()) tell_conditions(*engine, *nets_.train, start.share.shards);
  if (engine) iteration_->connect(start.device_engine);
  checkpoints_.begin(std::move(start));
  if (engine) share_state(*engine, state_, *iteration_);
  if (nets_.dealt_out) share_tests(*engine, nets_, evaluation_);
  log_info() << "Solver scaffolding done.";
}

Solver make_solver(SolverFile file, const SolverOptions& options, Context& context) {
  SolverConfig config = parse_solver(std::move(file));
  config.iteration.keeps_updates |= options.keeps_updates;
  RunStart start = prepare_run(config, options, context);
  SolverNets nets = make_solver_nets(config, options, context);
  return Solver(std::move(config), std::move(start), std::move(nets));
}

}  // namespace cortado
