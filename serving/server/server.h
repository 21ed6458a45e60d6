#pragma once

#include "tools/options/flags.h"

namespace cortado::server {

/// `cortado serve` with these flags: serves until SIGTERM or SIGINT, then finishes what was accepted. Returns the exit
/// code; throws Error.
int run_server(const tools::Arguments& arguments);

}  // namespace cortado::server
