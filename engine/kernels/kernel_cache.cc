#include "kernels/kernel_cache.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/json.h"
#include "kernels/conv.h"
#include "kernels/cpu_level.h"
#include "kernels/devices.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

const KernelCache::Entry* KernelCache::find(const std::string& problem) const {
  if (const auto found = recorded_.find(problem); found != recorded_.end()) return &found->second;
  if (const auto found = known_.find(problem); found != known_.end()) return &found->second;
  return nullptr;
}

namespace {

constexpr int64_t kMaxBytes = 16 << 20;

/// Always a JSON object; empty if the file is missing or invalid.
nlohmann::json read_cache(const std::string& path) {
  if (!file_exists(path)) return nlohmann::json::object();
  try {
    nlohmann::json file = parse_json_or_null<nlohmann::json>(read_file(path, kMaxBytes));
    return file.is_object() ? file : nlohmann::json::object();
  } catch (const Error&) {
    return nlohmann::json::object();
  }
}

}  // namespace

std::map<std::string, KernelCache::Entry> read_kernel_cache(const std::string& path, const std::string& machine) {
  std::map<std::string, KernelCache::Entry> choices;
  const nlohmann::json file = read_cache(path);
  const auto found = file.find(machine);
  if (found == file.end() || !found->is_object()) return choices;
  for (const auto& [problem, entry] : found->items()) {
    if (!entry.is_object() || !entry.contains("candidate") || !entry["candidate"].is_string()) continue;
    const bool timed = entry.contains("seconds") && entry["seconds"].is_number();
    choices[problem] = {entry["candidate"], "cache", timed ? double(entry["seconds"]) : 0};
  }
  return choices;
}

std::string write_kernel_cache(const std::string& path, const std::string& machine,
                               const std::map<std::string, KernelCache::Entry>& choices) {
  // Opening a pipe would block until there is a reader.
  if (file_exists(path) && !std::filesystem::is_regular_file(path)) return path + " is not a regular file";
  nlohmann::json file = read_cache(path);
  nlohmann::json& here = file[machine];
  if (!here.is_object()) here = nlohmann::json::object();
  for (const auto& [problem, choice] : choices)
    here[problem] = {{"candidate", choice.candidate}, {"seconds", choice.seconds}};
  try {
    write_file_atomically(path, file.dump(1));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string machine_name() {
  std::string model = "unknown CPU";
  std::ifstream info("/proc/cpuinfo");
  std::string number;
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.rfind("model name", 0) == 0) model = line.substr(colon + 2);
    if (line.rfind("model\t", 0) == 0) number = line.substr(colon + 2);
    if (line.rfind("flags", 0) == 0) break;
  }
  std::string name = model + (number.empty() ? "" : ", model " + number) + ", " + onednn_version() + ", compiled for " +
                     name_of(compiled_level());
  if (!onednn_generates_code()) name += ", " + openblas_version();
  for (const ConvCandidate& candidate : conv_candidates()) name += ", " + candidate.name;
  return name;
}

}  // namespace cortado::kernels
