#pragma once

#include <string>

#include "tools/flags.h"

namespace cortado::tools {

/// The command line, quoted for a shell, that resumes from the solver state `state`: the `arguments` of `train`, except
/// where to start.
std::string resume_command(const Arguments& arguments, const std::string& state);

}  // namespace cortado::tools
