#pragma once

#include <string>

#include "solvers/solver.h"

namespace cortado::tools {

/// What a signal does to a training: --sigint-effect and --sighup-effect.
enum class SignalEffect { kStop, kSnapshot, kNone };

SignalEffect signal_effect_of(const std::string& name);  ///< "stop", "snapshot" or "none"

/// From now on SIGINT, SIGTERM and SIGHUP become requests to the solver; SIGTERM stops. Asked to stop a second time,
/// the process ends at once. Returns where the requests appear; it lives as long as the process.
Requests& catch_signals(SignalEffect on_interrupt, SignalEffect on_hangup);

/// 128 plus the number of the signal that asked to stop; 0 if none did.
int stop_exit_code();

}  // namespace cortado::tools
