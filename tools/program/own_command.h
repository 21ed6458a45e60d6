#pragma once

#include <string>
#include <vector>

namespace cortado::tools {

/// This process's command line, as the system keeps it. Throws Error(kIo).
std::vector<std::string> own_command();

}  // namespace cortado::tools
