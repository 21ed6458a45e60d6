#pragma once

#include <string>

#include "solvers/observer.h"

namespace cortado::tools {

/// What a signal does to a training: --sigint-effect and --sighup-effect.
enum class SignalEffect { kStop, kSnapshot, kNone };

SignalEffect signal_effect_of(const std::string& name);  ///< "stop", "snapshot" or "none"

/// From now on SIGINT, SIGTERM, SIGUSR1 and SIGHUP become requests to the solver; SIGTERM stops, and so does SIGUSR1,
/// which mpirun hands on to all ranks and schedulers send before they end a job. Those that the
/// process was started to ignore (nohup, a script's background jobs) stay ignored. Until stop_with_snapshot() is called
/// nothing learned can be lost: a request to stop ends the process at once, whatever it waits for. Afterwards the
/// second one does. Returns where the requests appear; it lives as long as the process.
Requests& catch_signals(SignalEffect on_interrupt, SignalEffect on_hangup);
void stop_with_snapshot();

/// 128 plus the number of the signal that asked to stop; 0 if none did.
int stop_exit_code();

}  // namespace cortado::tools
