#include "tools/runs/files_in_use.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

namespace {

namespace fs = std::filesystem;

/// The paths of files that a run was started with.
std::vector<std::string> inputs_of(const RunRecord& record) {
  std::vector<std::string> paths = record.weights;
  paths.push_back(record.solver);
  for (const InputFile& input : record.inputs) paths.push_back(input.path);
  for (std::string& path : paths) path = join_path(record.folder, path);
  return paths;
}

std::optional<std::pair<dev_t, ino_t>> id_of(const fs::path& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

/// Calls body(id) for the file and for all folders above it. Links are resolved: what is above the target counts.
template <typename Body>
void each_above(const std::string& path, const Body& body) {
  std::error_code failure;
  fs::path at = fs::canonical(path, failure);
  if (failure) return;
  for (;; at = at.parent_path()) {
    if (const auto id = id_of(at)) body(*id);
    if (at == at.parent_path()) return;
  }
}

}  // namespace

FilesInUse::FilesInUse(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const RunPaths paths(folder);
    if (training_process(paths) == 0) continue;
    add(folder, folder);
    try {
      for (const std::string& path : inputs_of(read_record(paths.record))) add(path, folder);
    } catch (const Error&) {  // removed meanwhile
    }
  }
}

void FilesInUse::add(const std::string& path, const std::string& run) {
  if (const auto id = id_of(path)) used_.emplace(*id, run);
  each_above(path, [&](const Id& id) { above_used_.emplace(id, run); });
}

std::string FilesInUse::user_of(const std::string& path) const {
  std::string user;
  const auto look = [&](const std::map<Id, std::string>& ids, const Id& id) {
    if (const auto found = ids.find(id); user.empty() && found != ids.end()) user = found->second;
  };
  if (const auto id = id_of(path)) look(above_used_, *id);
  each_above(path, [&](const Id& id) { look(used_, id); });
  return user;
}

}  // namespace cortado::runs
