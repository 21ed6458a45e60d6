#include "tools/starter/project.h"

#include <deque>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado::tools {

std::string Project::net_path() const { return join_path(folder, "train_val.prototxt"); }
std::string Project::deploy_path() const { return join_path(folder, "deploy.prototxt"); }
std::string Project::solver_path() const { return join_path(folder, "solver.prototxt"); }
std::string Project::snapshots_path() const { return join_path(folder, "snapshots"); }
std::string Project::labels_path() const { return join_path(folder, "labels.txt"); }

void write_project(const Project& project, bool replace) {
  const std::pair<std::string, const std::string*> files[] = {{project.net_path(), &project.net},
                                                              {project.deploy_path(), &project.deploy},
                                                              {project.labels_path(), &project.labels},
                                                              {project.solver_path(), &project.solver}};
  for (const auto& [path, text] : files)
    if (file_exists(path) && !replace && read_file(path) != *text)
      throw file_error(ExitCode::kIo, path, "exists already, with other content",
                       "choose another --output, or replace it with --force");
  std::vector<std::string> made;
  try {
    std::deque<AtomicFile> written;  // renamed only when all are complete, so that a full disk leaves no part of them
    for (const auto& [path, text] : files) written.emplace_back(path, int64_t(text->size())).append(*text);
    std::error_code failure;
    if (make_folders(project.snapshots_path(), failure)) made.push_back(project.snapshots_path());
    if (failure) throw file_error(ExitCode::kIo, project.folder, "cannot create the folder: " + failure.message());
    for (size_t i = 0; i < std::size(files); ++i) {
      if (!file_exists(files[i].first)) made.push_back(files[i].first);
      written[i].commit();
    }
  } catch (...) {
    std::error_code ignored;
    for (const std::string& path : made) std::filesystem::remove(path, ignored);
    throw;
  }
}

}  // namespace cortado::tools
