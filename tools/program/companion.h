#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// Replaces this process by the program of this name in the same folder, with the same flags. Does not return, except
/// by Error: kUsage with `hint` if the program does not exist, kIo if it cannot be started.
int exec_companion(const std::string& program, const std::string& hint, const Arguments& arguments);

/// This process's command line. Throws Error(kIo).
std::vector<std::string> own_command();

}  // namespace cortado::tools
