#pragma once

#include <string>

#include "tools/flags.h"

namespace cortado::tools {

/// The command line, in words that a shell takes, that goes on from the solver state `state` as the `arguments` of
/// `train` say: theirs, but for where to begin.
std::string resume_command(const Arguments& arguments, const std::string& state);

}  // namespace cortado::tools
