#include "core/cpu/cpu_name.h"

#include <fstream>
#include <sstream>

namespace cortado {

CpuDescription describe_cpu() {
  CpuDescription cpu;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && cpu.flags.empty();) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 2));
    if (line.rfind("model name", 0) == 0) cpu.name = words.str();
    if (line.rfind("flags", 0) == 0)
      for (std::string word; words >> word;) cpu.flags.push_back(word);
  }
  return cpu;
}

}  // namespace cortado
