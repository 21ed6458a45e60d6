#pragma once

#include <string>
#include <vector>

#include "ranks/engine.h"
#include "ranks/estimate.h"

namespace cortado::ranks {

/// Runs `command` (with its name first) as `ranks` processes of this program on this machine, which find out from their
/// environment what they are (ranks/place.h) and speak by `engine`, "shm" or "gloo", "": "shm"; waits for them.
///
/// - SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 go to all of them, once each: they are out of the terminal's reach.
///   Ctrl-Z stops them and this process.
/// - Rank 0 has this process's input and output; of the others only lines on standard error are seen, with their rank
///   before them.
/// - When one fails the others have some seconds to notice by themselves, then get SIGTERM, then, 10 s later, SIGKILL.
///   A rank that ends as such a signal told it to has not failed.
/// - They are killed when this process is.
///
/// The exit code of the rank that failed first (128 + a signal's number), else of one that a signal told to end, else
/// 0. A rank that fails with kIo may only have lost another one: what else one of them fails with meanwhile counts
/// before. Throws Error(kUsage) for another engine or a number below 1, Error(kIo) and Error(kDevice) where they cannot
/// be started.
int launch_local(int ranks, const std::string& engine, const std::vector<std::string>& command);

/// Collective: sums up arrays of some sizes as a training does, nothing else going on, and fits latency and bandwidth
/// to the medians. What adding up takes counts as the network's. Throws what the engine throws.
Network measure_network(Engine& engine);

}  // namespace cortado::ranks
