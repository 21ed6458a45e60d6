#pragma once

#include <string>
#include <vector>

namespace cortado {

/// What the system tells of this machine's CPU.
struct CpuDescription {
  std::string name = "unknown";
  std::vector<std::string> flags;  ///< the instructions that it has, in the system's words
};
CpuDescription describe_cpu();

/// How many CPUs' time the control groups of this process allow it, versions 1 and 2: the least of its group's and all
/// those above it, as containers set it (`docker run --cpus=1.5`). Infinity where there is no limit. Files are read
/// below `root`.
double cpu_quota(const std::string& root = "");

}  // namespace cortado
