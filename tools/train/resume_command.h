#pragma once

#include <string>

#include "tools/options/flags.h"

namespace cortado::tools {

/// The word, quoted for a shell.
std::string quoted_for_shell(const std::string& word);

/// The command line, quoted for a shell, that resumes from the solver state `state`: the `arguments` of `train`, except
/// those that choose the start.
std::string resume_command(const Arguments& arguments, const std::string& state);

}  // namespace cortado::tools
