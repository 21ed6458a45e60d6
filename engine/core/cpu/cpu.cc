#include "core/cpu/cpu.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
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

namespace {

/// Quota divided by period, both in microseconds; infinity if either is not a positive number ("max", -1, a missing
/// file).
double cpus(const std::string& quota, const std::string& period) {
  double numbers[2] = {};
  for (const auto& [text, number] : {std::pair(&quota, &numbers[0]), std::pair(&period, &numbers[1])})
    if (!(std::istringstream(*text) >> *number) || *number <= 0) return INFINITY;
  return numbers[0] / numbers[1];
}

std::string first_word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

double quota_of_folder(const std::string& folder, bool unified) {
  if (!unified) return cpus(first_word(folder + "/cpu.cfs_quota_us"), first_word(folder + "/cpu.cfs_period_us"));
  std::string quota, period;
  std::ifstream(folder + "/cpu.max") >> quota >> period;
  return cpus(quota, period);
}

/// The minimum over a group and its ancestors. A container may see its own group as the root but under the host's path,
/// so missing folders count as unlimited.
double quota_of_group(const std::string& mount, std::filesystem::path group, bool unified) {
  double least = quota_of_folder(mount, unified);
  for (; group.has_relative_path(); group = group.parent_path())
    least = std::min(least, quota_of_folder(mount + group.string(), unified));
  return least;
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');)
    if (name == "cpu") return true;
  return false;
}

}  // namespace

double cpu_quota(const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  double least = INFINITY;
  std::ifstream file(root + "/proc/self/cgroup");  // "0::/user.slice", "4:cpu,cpuacct:/docker/5a1f"
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty())
      least = std::min(least, quota_of_group(groups, group, true));
    else if (names_cpu(controllers))
      for (const std::string& mount : {groups + "/" + controllers, groups + "/cpu"})
        least = std::min(least, quota_of_group(mount, group, false));
  }
  return least;
}

}  // namespace cortado
