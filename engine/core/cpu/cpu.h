#pragma once

#include <string>
#include <vector>

namespace cortado {

/// This machine's CPU according to /proc/cpuinfo.
struct CpuDescription {
  std::string name = "unknown";
  std::vector<std::string> flags;  ///< instruction set extensions, as the system names them
};
CpuDescription describe_cpu();

/// The number of CPUs that the process may use according to its control groups (versions 1 and 2), as containers limit
/// it (`docker run --cpus=1.5`). This is the minimum over the process's group and all its ancestors; infinity without a
/// limit. Files are read below `root`.
double cpu_quota(const std::string& root = "");

}  // namespace cortado
