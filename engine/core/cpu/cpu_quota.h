#pragma once

#include <string>

namespace cortado {

/// How many CPUs' time the control groups of this process allow it, versions 1 and 2: the least of its group's and all
/// those above it, as containers set it (`docker run --cpus=1.5`). Infinity where there is no limit. Files are read
/// below `root`.
double cpu_quota(const std::string& root = "");

}  // namespace cortado
