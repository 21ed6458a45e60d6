#pragma once

// A solver's file, checked and taken apart once. Who trains asks the parts; the file stays for the nets that it names
// or holds, for places in messages, and for who shows or writes it.

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

/// A mistake in the solver file at the field that `error` names.
Diagnostic mistake_at(const SolverFile& file, const FieldError& error);

/// The tests of a training.
struct TestPlan {
  int nets = 0;      ///< how many are described; 0 where each would take 0 batches
  int interval = 0;  ///< 0: no tests
  bool at_first = true, by_epoch = false, logs_loss = false, logs_classes = false;
  std::vector<int> batches{};  ///< per net, unless by_epoch
  ApVersion ap_version = ApVersion::kIntegral;
  // Scores by name: "" is the only one there is.
  std::string plateau_metric{};            ///< "": none
  std::optional<std::string> keep_best{};  ///< the score
  std::optional<caffe::EarlyStopParameter> early_stop{};

  bool is_due(int64_t iter) const { return interval > 0 && iter % interval == 0 && (iter > 0 || at_first); }
};

struct SolverConfig {
  SolverFile file;
  IterationPlan iteration{};
  Schedule schedule{};  ///< as it is at iteration 0
  TestPlan tests{};
  SnapshotPlan snapshots{};
  int display = 0;  ///< iterations from one line to the next; 0: none
  int average_loss = 1;
  bool debug_info = false;
  int64_t max_iter = 0;  ///< with max_epoch only once the training net is there
  float ema_decay = 0;   ///< 0: no average of the weights
  bool ema_warmup = true;

  int64_t seed() const { return file.solver.random_seed(); }     ///< negative: none is given
  int64_t max_epoch() const { return file.solver.max_epoch(); }  ///< 0: max_iter says how long
  float base_lr() const { return file.solver.base_lr(); }
  const std::string& lr_policy() const { return file.solver.lr_policy(); }
  bool displays(int64_t iter) const { return display > 0 && iter % display == 0; }

  // What a training settles once it knows its ranks, its snapshot and its net; the file's message says it, too.
  void set_shards(int shards);
  void set_snapshot_prefix(const std::string& prefix);
  void set_base_lr(float rate);
  void set_max_iter(int iterations);  ///< throws FieldError as Schedule

  /// Runs `work`, for mistakes that show only later: a FieldError becomes an Error at its field.
  template <typename Work>
  auto at_its_field(const Work& work) const -> decltype(work()) {
    try {
      return work();
    } catch (const FieldError& error) {
      throw Error(ExitCode::kNet, mistake_at(file, error));
    }
  }
};

/// Adds every mistake in the options of a solver that shows without its nets: values out of range, unknown types and
/// policies, numbers of test nets that do not agree, options of other programs that would be ignored. Nets are not
/// read. Where there are mistakes, the parts that they are about are not what the file says.
SolverConfig parse_solver(SolverFile file, Mistakes& mistakes);
/// Throws Error(kNet) with all of them, if there are any.
SolverConfig parse_solver(SolverFile file);

/// What parse_solver() lets pass and a user should know, with the place.
std::vector<Diagnostic> solver_warnings(const SolverFile& file);

}  // namespace cortado
