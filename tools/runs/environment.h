#pragma once

#include <map>
#include <string>

#include "core/context.h"

namespace cortado::runs {

/// Where a training runs: host, cpu, level (of instructions), threads, memory, device, libraries (that do the
/// arithmetic).
std::map<std::string, std::string> describe_environment(Context& context);

std::string host_name();  ///< "unknown" where the system does not tell
std::string program_version();

}  // namespace cortado::runs
