#pragma once

#include <string>

#include "tools/options/flags.h"

namespace cortado::tools {

/// A word as a shell reads it back.
std::string quoted_for_shell(const std::string& word);

/// The command line, quoted for a shell, that resumes from the solver state `state`: the `arguments` of `train`, except
/// where to start.
std::string resume_command(const Arguments& arguments, const std::string& state);

}  // namespace cortado::tools
