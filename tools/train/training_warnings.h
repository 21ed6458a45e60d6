#pragma once

// Warnings of `cortado check` about common problems of trainings, with the place of the field. The graphs' shapes are
// known and their datasets open.

#include <vector>

#include "core/error.h"
#include "graph/graph.h"
#include "proto/files/read_text.h"

namespace cortado::tools {

/// Data layers whose images reach the net with values of 0 to 255: without mean, scale, or BatchNorm after them.
std::vector<Diagnostic> raw_value_warnings(const graph::Graph& train);

/// A test net whose mean or scale differs from the training net's.
std::vector<Diagnostic> unlike_value_warnings(const graph::Graph& train, const graph::Graph& test);

/// BatchNorm layers with use_global_stats in a training without weights: their statistics stay 0.
std::vector<Diagnostic> stored_statistics_warnings(const SolverFile& solver, const graph::Graph& train);

/// A base_lr that, for the images of an update, is more than eight times or less than an eighth of the rate of the net
/// of this name in models/. With weights to start from, low rates are allowed.
std::vector<Diagnostic> rate_warnings(const SolverFile& solver, const graph::Graph& train);

/// A test whose test_iter does not test each record of its set once, except for those that fill up the last batch.
std::vector<Diagnostic> test_size_warnings(const SolverFile& solver, int test, const graph::Graph& graph);

}  // namespace cortado::tools
