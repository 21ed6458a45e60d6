#pragma once

#include "tools/options/flags.h"

namespace cortado::studio {

/// Runs `cortado studio` until SIGTERM or SIGINT. Returns the exit code; throws Error.
int run_studio(const tools::Arguments& arguments);

}  // namespace cortado::studio
