#pragma once

// How several ranks share a test: batch number b of each test net is rank b % ranks', and scores are added up by the
// first one in the order of batches, so that they have the bits of one process alone.

#include <string>

#include "graph/graph.h"
#include "solvers/evaluation.h"
#include "solvers/solver_nets.h"

namespace cortado {

/// Why the batches of this test net, built or not, have to come to one process one after the other: a layer that
/// remembers them (layers/roles.h); "" where they need not.
std::string why_not_dealt_out(const graph::Graph& test);

/// Collective, where tests are dealt out: all ranks get the first one's weights of layers that only test nets have, and
/// where its tests stand.
void share_tests(ranks::Engine& engine, SolverNets& nets, Evaluation& evaluation);

}  // namespace cortado
