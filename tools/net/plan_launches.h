#pragma once

// `cortado plan --launches`: the cost of a training iteration on a device (solvers/iteration_cost.h), step by step.

#include "core/context.h"
#include "graph/graph.h"
#include "tools/options/flags.h"

namespace cortado::tools {

/// Whether the flags request it. Throws Error(kUsage) if they exclude each other.
bool wants_launches(const Arguments& arguments);

/// Prints a table, or JSON with --json. The graph's passes must have run.
void show_launches(const Arguments& arguments, graph::Graph graph, Context& context);

// `cortado plan --ranks`: estimates the time of an iteration by several processes, and its bottleneck
// (ranks/estimate.h). The time at which backward completes each gradient is measured on this machine. The network's
// speed is given by flags, or measured between processes that communicate like those of a training.

std::vector<Flag> plan_ranks_flags();  ///< --ranks, --bandwidth, --latency, --measure, and engine_flags()

/// Whether the flags request it. Throws Error(kUsage) if they exclude each other.
bool wants_ranks(const Arguments& arguments);

/// Prints a table, or JSON with --json. Returns the exit code.
int plan_ranks(const Arguments& arguments);

}  // namespace cortado::tools
