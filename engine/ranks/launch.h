#pragma once

#include <string>
#include <vector>

#include "ranks/engine.h"
#include "ranks/estimate.h"

namespace cortado::ranks {

/// Runs `command` (whose first word is its name) as `ranks` processes of this program on this machine, and waits for
/// them. They get their ranks from the environment (ranks/place.h) and use `engine`: "shm" or "gloo", "": "shm".
///
/// - SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to all of them, once each: the terminal does not reach
///   them. Ctrl-Z stops them and this process.
/// - Rank 0 has this process's input and output. Of the others only lines on standard error are printed, prefixed with
///   their rank.
/// - When one fails, the others have some seconds to notice, then get SIGTERM, and after 10 s SIGKILL. A rank ended by
/// a
///   forwarded signal has not failed.
/// - They are killed when this process is.
///
/// Returns the exit code of the rank that failed first (128 + a signal's number), else that of one ended by a forwarded
/// signal, else 0. A rank that fails with kIo may only have lost another one: another code that follows it takes
/// precedence. Throws Error(kUsage) for another engine or a number below 1, Error(kIo) and Error(kDevice) if they
/// cannot be started.
int launch_local(int ranks, const std::string& engine, const std::vector<std::string>& command);

/// Collective: sums arrays of several sizes as a training does, with nothing else running, and fits latency and
/// bandwidth to the medians. The additions count as network time. Throws what the engine throws.
Network measure_network(Engine& engine);

}  // namespace cortado::ranks
