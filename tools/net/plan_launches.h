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

}  // namespace cortado::tools
