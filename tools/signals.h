#pragma once

#include <string>

#include "solvers/requests.h"

namespace cortado::tools {

/// What a signal does to a training: --sigint-effect and --sighup-effect.
enum class SignalEffect { kStop, kSnapshot, kNone };

SignalEffect signal_effect_of(const std::string& name);  ///< "stop", "snapshot" or "none"

/// From now on SIGINT, SIGTERM and SIGHUP become requests to the solver; SIGTERM stops. Those that whoever started the
/// process had it ignore (nohup, a script's background jobs) stay ignored. Until stop_with_snapshot() is called nothing
/// is learned that could be lost: asked to stop, the process ends at once, whatever it waits for. Afterwards it does so
/// the second time. Returns where the requests appear; it lives as long as the process.
Requests& catch_signals(SignalEffect on_interrupt, SignalEffect on_hangup);
void stop_with_snapshot();

/// 128 plus the number of the signal that asked to stop; 0 if none did.
int stop_exit_code();

}  // namespace cortado::tools
