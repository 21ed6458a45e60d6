#pragma once

#include "core/context.h"
#include "proto/read_text.h"
#include "solvers/solver_nets.h"
#include "tools/tuner/rate_finding.h"

namespace cortado::tools {

/// The solver without what belongs to a whole training: no tests, snapshots or schedule; an update sees as many images
/// as before.
SolverFile for_trials(const SolverFile& file);

struct SweepOptions {
  double lowest = 1e-6, highest = 10;
  int iterations = 150;
};

/// Trains with a rate that rises from `lowest` to `highest`, and stops where the loss has left. The context's seed and
/// the data are the training's. Throws what a training throws, but for a loss that is no number: that is a result.
RateSweep sweep_rates(const SolverFile& file, const SolverOptions& solver_options, const SweepOptions& options,
                      Context& context);

/// Images a second of a training, and the share of the time that it waits for data.
struct Speed {
  int threads = 0;
  double images_per_second = 0, wait_share = 0;
};

/// Trains for about `seconds` at a rate of nothing, after half as long to get going.
Speed measure_speed(const SolverFile& file, const SolverOptions& solver_options, double seconds, Context& context);

}  // namespace cortado::tools
