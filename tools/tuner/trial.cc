#include "tools/tuner/trial.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "solvers/solver.h"

namespace cortado::tools {

namespace {

constexpr double kTrialFarAbove = 5;  ///< a loss of more times its minimum has diverged

Solver solver_of(SolverFile file, const SolverOptions& options, Context& context) {
  return make_solver(std::move(file), options, context);
}

}  // namespace

SolverFile for_trials(const SolverFile& file) {
  SolverFile trial = file;
  caffe::SolverParameter& solver = trial.solver;
  for (const char* name : {"test_iter",       "test_interval",  "test_epoch",
                           "test_net",        "test_net_param", "test_state",
                           "snapshot",        "snapshot_every", "keep_best",
                           "keep_last",       "early_stop",     "plateau_metric",
                           "plateau_winsize", "warmup_iter",    "warmup_start_lr",
                           "rampup_interval", "rampup_lr",      "min_lr",
                           "stepsize",        "stepvalue",      "power",
                           "cosine_cycle",    "max_epoch",      "stagelr",
                           "stageiter",       "debug_info",     "test_and_snapshot_last_epochs",
                           "ema_decay"}) {
    const auto* field = solver.GetDescriptor()->FindFieldByName(name);
    if (field) solver.GetReflection()->ClearField(&solver, field);
  }
  if (solver.shards() > 1) solver.set_iter_size(std::max(1, solver.iter_size()) * solver.shards());
  solver.clear_shards();
  solver.clear_local_steps();
  solver.set_test_initialization(false);
  solver.set_snapshot_after_train(false);
  solver.set_display(0);
  solver.set_max_iter(1 << 30);
  return trial;
}

RateSweep sweep_rates(const SolverFile& file, const SolverOptions& solver_options, const SweepOptions& options,
                      Context& context) {
  SolverFile trial = for_trials(file);
  const double factor = std::pow(options.highest / options.lowest, 1.0 / std::max(1, options.iterations - 1));
  trial.solver.set_lr_policy("exp");
  trial.solver.set_base_lr(float(options.lowest));
  trial.solver.set_gamma(float(factor));
  Solver solver = solver_of(std::move(trial), solver_options, context);
  RateSweep sweep;
  double least = INFINITY, mean = 0;
  for (int i = 0; i < options.iterations; ++i) {
    try {
      solver.step(1);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kDiverged) throw;
      sweep.rates.push_back(options.lowest * std::pow(factor, i));
      sweep.losses.push_back(INFINITY);
      sweep.left = true;
      break;
    }
    sweep.rates.push_back(double(solver.progress().rate));
    sweep.losses.push_back(solver.loss());
    mean = i == 0 ? solver.loss() : 0.7 * mean + 0.3 * solver.loss();
    least = std::min(least, mean);
    sweep.left = i > 10 && mean > kTrialFarAbove * least;
    if (sweep.left) break;
  }
  return sweep;
}

double loss_at_rate(const SolverFile& file, const SolverOptions& solver_options, float rate, int iterations,
                    Context& context) {
  SolverFile trial = for_trials(file);
  trial.solver.set_lr_policy("fixed");
  trial.solver.set_base_lr(rate);
  const int quarter = std::max(1, iterations / 4);
  if (file.solver.warmup_iter() > 0) trial.solver.set_warmup_iter(std::min(int(file.solver.warmup_iter()), quarter));
  Solver solver = solver_of(std::move(trial), solver_options, context);
  double sum = 0;
  try {
    for (int i = 0; i < iterations; ++i) {
      solver.step(1);
      if (i >= iterations - quarter) sum += solver.loss();
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDiverged) throw;
    return INFINITY;
  }
  return std::isfinite(sum) ? sum / quarter : INFINITY;
}

Speed measure_speed(const SolverFile& file, const SolverOptions& solver_options, double seconds, Context& context,
                    int64_t images) {
  SolverFile trial = for_trials(file);
  trial.solver.set_lr_policy("fixed");
  trial.solver.set_base_lr(1e-12F);
  Solver solver = solver_of(std::move(trial), solver_options, context);
  const auto run = [&](double most) {
    const Progress start = solver.progress();
    const auto is_over = [&](const Progress& now) {
      return now.seconds - start.seconds >= most || (now.iter - start.iter) * now.images_per_iter >= images;
    };
    do solver.step(1);
    while (!is_over(solver.progress()));
  };
  run(seconds / 2);
  const Progress before = solver.progress();
  run(seconds);
  const Progress& after = solver.progress();
  const double passed = after.seconds - before.seconds;
  return {context.threads, double((after.iter - before.iter) * after.images_per_iter) / passed,
          (after.wait_seconds - before.wait_seconds) / passed};
}

}  // namespace cortado::tools
