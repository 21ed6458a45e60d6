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

}  // namespace cortado
