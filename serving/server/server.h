#pragma once

#include "tools/options/flags.h"

namespace cortado::server {

/// Runs `cortado serve` until SIGTERM or SIGINT, then finishes accepted requests. Returns the exit
/// code; throws Error.
int run_server(const tools::Arguments& arguments);

}  // namespace cortado::server
