#pragma once

#include "core/context.h"
#include "proto/files/read_text.h"
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

/// What training at one rate leaves after `iterations`: the mean loss of their last quarter, infinity where it
/// diverges. Of the schedule a warm-up alone is kept, no longer than a quarter. The context's seed and the data are the
/// training's.
double loss_at_rate(const SolverFile& file, const SolverOptions& solver_options, float rate, int iterations,
                    Context& context);

/// Images a second of a training, and the share of the time that it waits for data.
struct Speed {
  int threads = 0;
  double images_per_second = 0, wait_share = 0;
};

/// Trains for about `seconds` at a rate of nothing, after half as long to get going.
Speed measure_speed(const SolverFile& file, const SolverOptions& solver_options, double seconds, Context& context);

}  // namespace cortado::tools
