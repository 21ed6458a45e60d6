#pragma once

// A solver file, checked and parsed into its parts. The training reads the parts. The file is kept for the nets that it
// names or contains, for places in messages, and for printing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "proto/files/read_text.h"
#include "solvers/average_precision.h"
#include "solvers/iteration_plan.h"
#include "solvers/schedule.h"
#include "solvers/snapshot.h"

namespace cortado {

/// A diagnostic at the field of the solver file that `error` names.
Diagnostic mistake_at(const SolverFile& file, const FieldError& error);

/// When and how the test nets run.
struct TestPlan {
  int nets = 0;      ///< number of test nets; 0 if each has test_iter 0
  int interval = 0;  ///< 0: no tests
  bool at_first = true, by_epoch = false, logs_loss = false, logs_classes = false;
  std::vector<int> batches{};  ///< per net, unless by_epoch
  ApVersion ap_version = ApVersion::kIntegral;
  // Scores by name; "" means the only score.
  std::string plateau_metric{};            ///< "": none
  std::optional<std::string> keep_best{};  ///< name of the score
  std::optional<caffe::EarlyStopParameter> early_stop{};

  bool is_due(int64_t iter) const { return interval > 0 && iter % interval == 0 && (iter > 0 || at_first); }
  /// Whether to test after the last of `iterations`. Caffe does if the interval ends there. With test_epoch, which
  /// Caffe does not have, the final weights always get their scores.
  bool is_due_at_end(int64_t iterations) const { return interval > 0 && (iterations % interval == 0 || by_epoch); }
};

struct SolverConfig {
  SolverFile file;
  IterationPlan iteration{};
  Schedule schedule{};  ///< state at iteration 0
  TestPlan tests{};
  SnapshotPlan snapshots{};
  int display = 0;  ///< iterations between log lines; 0: none
  int average_loss = 1;
  bool debug_info = false;
  int64_t max_iter = 0;  ///< if max_epoch is set, known only after the training net is built
  float ema_decay = 0;   ///< 0: no moving average of the weights
  bool ema_warmup = true;

  int64_t seed() const { return file.solver.random_seed(); }     ///< negative: not set
  int64_t max_epoch() const { return file.solver.max_epoch(); }  ///< 0: max_iter is the limit
  float base_lr() const { return file.solver.base_lr(); }
  const std::string& lr_policy() const { return file.solver.lr_policy(); }
  bool displays(int64_t iter) const { return display > 0 && iter % display == 0; }

  // Values that are known only once the ranks, the snapshot and the net are. They are also written to `file`.
  void set_shards(int shards);
  void set_snapshot_prefix(const std::string& prefix);
  void set_base_lr(float rate);
  void set_max_iter(int iterations);  ///< throws FieldError like Schedule's constructor

  /// Runs `work` and converts a FieldError to an Error at its field, for errors that are found after parsing.
  template <typename Work>
  auto at_its_field(const Work& work) const -> decltype(work()) {
    try {
      return work();
    } catch (const FieldError& error) {
      throw Error(ExitCode::kNet, mistake_at(file, error));
    }
  }
};

/// Adds a diagnostic for every error that can be found without reading the nets: values out of range, unknown types and
/// policies, numbers of test nets that do not agree, options of other programs that would be ignored. After an error
/// the parts that it concerns have unspecified values.
SolverConfig parse_solver(SolverFile file, Mistakes& mistakes);
/// Throws Error(kNet) with all diagnostics, if there are any.
SolverConfig parse_solver(SolverFile file);

/// Warnings about options that parse_solver() accepts, with their places.
std::vector<Diagnostic> solver_warnings(const SolverFile& file);

}  // namespace cortado
