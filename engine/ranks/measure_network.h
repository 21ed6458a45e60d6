#pragma once

#include "ranks/engine.h"
#include "ranks/foretell.h"

namespace cortado::ranks {

/// Collective: sums up arrays of some sizes as a training does, nothing else going on, and fits latency and bandwidth
/// to the medians. What adding up takes counts as the network's. Throws what the engine throws.
Network measure_network(Engine& engine);

}  // namespace cortado::ranks
