#pragma once

#include <cstdint>

#include "core/context.h"
#include "proto/files/read_text.h"
#include "solvers/solver_nets.h"
#include "tools/tuner/rate_finding.h"

namespace cortado::tools {

/// The solver without tests, snapshots and schedule. An update has as many images as before.
SolverFile for_trials(const SolverFile& file);

struct SweepOptions {
  double lowest = 1e-6, highest = 10;
  int iterations = 150;
};

/// Trains with a rate that rises from `lowest` to `highest`, and stops where the loss diverges. Uses the context's seed
/// and the training's data. Throws as a training does, except for a loss that is not finite, which is a result.
RateSweep sweep_rates(const SolverFile& file, const SolverOptions& solver_options, const SweepOptions& options,
                      Context& context);

/// The mean loss of the last quarter of `iterations` at one rate; infinity if training diverges. Of the schedule only a
/// warm-up is kept, of at most a quarter. Uses the context's seed and the training's data.
double loss_at_rate(const SolverFile& file, const SolverOptions& solver_options, float rate, int iterations,
                    Context& context);

/// Images a second of a training, and the share of its time that it waits for data.
struct Speed {
  int threads = 0;
  double images_per_second = 0, wait_share = 0;
};

/// Trains for about `seconds` at a rate of 0, after a warm-up of half that time; with `images`, each of the two for at
/// most as many images, rounded up to iterations.
Speed measure_speed(const SolverFile& file, const SolverOptions& solver_options, double seconds, Context& context,
                    int64_t images = INT64_MAX);

}  // namespace cortado::tools
