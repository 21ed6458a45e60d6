#pragma once

// `cortado plan --launches`: what an iteration of training costs on a device (solvers/iteration_cost.h), step by step.

#include "core/context.h"
#include "graph/graph.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// Whether the flags ask for it; throws Error(kUsage) where they do not go together.
bool wants_launches(const Arguments& arguments);

/// The graph's passes have run. Prints a table, or JSON with --json.
void show_launches(const Arguments& arguments, graph::Graph graph, Context& context);

// `cortado plan --ranks`: how long an iteration by several processes will take (ranks/estimate.h), and what limits it.
// When backward completes which gradients is measured here and now; the network is given, or measured by processes that
// speak to one another as a training's do.

std::vector<Flag> plan_ranks_flags();  ///< --ranks, --bandwidth, --latency, --measure, and those of engines

/// Whether the flags ask for it; throws Error(kUsage) where they do not go together.
bool wants_ranks(const Arguments& arguments);

/// Prints a table, or JSON with --json; the exit code.
int plan_ranks(const Arguments& arguments);

}  // namespace cortado::tools
