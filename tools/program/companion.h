#pragma once

#include <string>
#include <vector>

#include "tools/options/flags.h"

namespace cortado::tools {

/// Becomes the program of this name that lies beside this one, with the flags that were given. Its libraries would make
/// every start of this one slow; it reads the same table of flags. Comes back only by Error: kUsage with `hint` where
/// there is no such program, kIo where it cannot be started.
int become_companion(const std::string& program, const std::string& hint, const Arguments& arguments);

/// This process's command line, as the system keeps it. Throws Error(kIo).
std::vector<std::string> own_command();

}  // namespace cortado::tools
