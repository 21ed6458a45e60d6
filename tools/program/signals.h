#pragma once

#include <string>

#include "solvers/observer.h"

namespace cortado::tools {

/// The effect of a signal on training: --sigint-effect and --sighup-effect.
enum class SignalEffect { kStop, kSnapshot, kNone };

SignalEffect signal_effect_of(const std::string& name);  ///< "stop", "snapshot" or "none"

/// From now on SIGINT, SIGTERM, SIGUSR1 and SIGHUP become requests to the solver. SIGTERM stops, and so does SIGUSR1,
/// which mpirun forwards to all ranks and schedulers send before they end a job. Signals that are ignored when the
/// process starts stay ignored (nohup, background jobs of scripts). Until stop_with_snapshot() is called no weights can
/// be lost: a request to stop ends the process at once. Afterwards the second request does, or the third while the
/// snapshot is written that the first one is for. Returns the requests, which live as long as the process.
Requests& catch_signals(SignalEffect on_interrupt, SignalEffect on_hangup);
void stop_with_snapshot();

/// 128 plus the number of the signal that requested the stop; 0 if none did.
int stop_exit_code();

}  // namespace cortado::tools
