#pragma once

// What usually goes wrong with trainings and is no mistake of the language: told by `cortado check`, each with the
// place of the field to look at. Graphs have their shapes, and their datasets open.

#include <vector>

#include "core/error.h"
#include "graph/graph.h"
#include "proto/files/read_text.h"

namespace cortado::tools {

/// Data layers whose images reach the net as 0 to 255: no mean, no scale, and no BatchNorm behind them.
std::vector<Diagnostic> raw_value_warnings(const graph::Graph& train);

/// A test net that prepares values otherwise than the training net: mean or scale differ.
std::vector<Diagnostic> unlike_value_warnings(const graph::Graph& train, const graph::Graph& test);

/// BatchNorms that learn from nothing with stored statistics, which stay 0 then: use_global_stats, and no weights to
/// start from.
std::vector<Diagnostic> stored_statistics_warnings(const SolverFile& solver, const graph::Graph& train);

/// A base_lr that is, for the images of an update, more than eight times or less than an eighth of what the net of this
/// name in models/ learns with. Weights to start from take less.
std::vector<Diagnostic> rate_warnings(const SolverFile& solver, const graph::Graph& train);

/// A test whose test_iter does not look at each record of its set once, but for what fills its last batch.
std::vector<Diagnostic> test_size_warnings(const SolverFile& solver, int test, const graph::Graph& graph);

}  // namespace cortado::tools
