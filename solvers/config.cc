#include "solvers/config.h"

#include <algorithm>

#include "core/field_text.h"
#include "core/precision.h"
#include "solvers/solver_checks.h"

namespace cortado {

namespace {

using Config = caffe::SolverParameter;

TestPlan test_plan_of(const Config& solver, int nets) {
  TestPlan plan{.nets = nets,
                .interval = solver.test_interval(),
                .at_first = solver.test_initialization(),
                .by_epoch = solver.test_epoch(),
                .logs_loss = solver.test_compute_loss(),
                .logs_classes = solver.show_per_class_result(),
                .batches = {solver.test_iter().begin(), solver.test_iter().end()},
                .plateau_metric = solver.plateau_metric()};
  if (solver.has_keep_best()) plan.keep_best = solver.keep_best();
  if (solver.has_early_stop()) plan.early_stop = solver.early_stop();
  return plan;
}

}  // namespace

Diagnostic mistake_at(const SolverFile& file, const FieldError& error) {
  const bool at_field = file.positions.known(error.field());
  return {file.positions.place(error.field()), at_field ? error.message() : with_field(error), error.hint(), {}};
}

SolverConfig parse_solver(SolverFile file, Mistakes& mistakes) {
  SolverConfig config{.file = std::move(file)};
  const Config& solver = config.file.solver;
  const SolverChecks checks(solver);
  const auto run = [&](const auto& work) {
    try {
      work();
    } catch (const FieldError& error) {
      mistakes.add(mistake_at(config.file, error));
    }
  };
  const auto run_all = [&](std::initializer_list<void (SolverChecks::*)() const> list) {
    for (const auto check : list) run([&] { (checks.*check)(); });
  };
  run([&] { checks.numbers(); });
  run([&] { precision_named(solver.precision()); });
  run_all({&SolverChecks::train_net, &SolverChecks::length, &SolverChecks::base_lr});
  for (const FieldRange& range : kFieldRanges) run([&] { checks.range(range); });
  run_all({&SolverChecks::clipping, &SolverChecks::test_nets});
  if (solver.has_base_lr() || solver.lr_policy() == "multifixed" || solver.lr_policy().empty())
    run([&] { lr_policy_of(solver); });
  run([&] { warm_up_of(solver); });
  run([&] { momentum_policy_of(solver); });
  run([&] { weight_decay_policy_of(solver); });
  run_all({&SolverChecks::layer_rates, &SolverChecks::average, &SolverChecks::metrics, &SolverChecks::local_steps});
  config.tests = test_plan_of(solver, checks.test_net_count());
  run([&] { config.tests.ap_version = ap_version_of(solver.ap_version()); });
  std::shared_ptr<const UpdateRule> rule;
  run([&] { rule = make_update_rule(solver); });
  config.iteration = iteration_plan_of(solver, std::move(rule));
  config.snapshots = snapshot_plan_of(solver);
  run_all({&SolverChecks::regularization, &SolverChecks::snapshots, &SolverChecks::foreign});
  config.display = solver.display();
  config.average_loss = solver.average_loss();
  config.debug_info = solver.debug_info();
  config.max_iter = solver.max_iter();
  config.ema_decay = solver.ema_decay();
  config.ema_warmup = solver.ema_warmup();
  if (mistakes.empty()) config.schedule = Schedule(solver);
  return config;
}

SolverConfig parse_solver(SolverFile file) {
  Mistakes mistakes;
  SolverConfig config = parse_solver(std::move(file), mistakes);
  mistakes.throw_if_any(ExitCode::kNet);
  return config;
}

void SolverConfig::set_shards(int shards) {
  file.solver.set_shards(shards);
  iteration.shards = shards;
}

void SolverConfig::set_snapshot_prefix(const std::string& prefix) {
  file.solver.set_snapshot_prefix(prefix);
  snapshots.prefix = prefix;
}

void SolverConfig::set_base_lr(float rate) {
  file.solver.set_base_lr(rate);
  schedule = Schedule(file.solver);
}

void SolverConfig::set_max_iter(int iterations) {
  file.solver.set_max_iter(iterations);
  max_iter = iterations;
  schedule = Schedule(file.solver);
}

std::vector<Diagnostic> solver_warnings(const SolverFile& file) {
  const Config& config = file.solver;
  std::vector<Diagnostic> warnings;
  const auto warn = [&](const char* field, const std::string& message, const std::string& hint) {
    warnings.push_back(mistake_at(file, FieldError(field, message, hint)));
  };
  if (!config.has_max_iter() && config.max_epoch() <= 0)
    warn("max_iter", "no max_iter: training ends before the first iteration", "add max_iter: 10000");
  // "detection" only affects nets with a DetectionEvaluate layer.
  const std::vector<std::string> evaluations = {"classification", "detection", "detection_segmentation"};
  const std::string& type = config.eval_type();
  if (std::find(evaluations.begin(), evaluations.end(), type) == evaluations.end())
    warn("eval_type", "unknown eval_type '" + type + "': tests report the mean of each score",
         did_you_mean(type, evaluations));
  if (config.device_id_size() > 1)
    warn("device_id",
         "device_id lists " + std::to_string(config.device_id_size()) + " GPUs, but only the first is used",
         "train on all of them with --gpu=all");
  if (config.test_interval() > 0 && SolverChecks(config).described_test_nets() == 0)
    warn("test_interval", "test_interval has no effect, because no test net runs",
         "set test_iter to the number of batches of a test");
  return warnings;
}

}  // namespace cortado
