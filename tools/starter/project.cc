#include "tools/starter/project.h"

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado::tools {

std::string Project::net_path() const { return join_path(folder, "train_val.prototxt"); }
std::string Project::deploy_path() const { return join_path(folder, "deploy.prototxt"); }
std::string Project::solver_path() const { return join_path(folder, "solver.prototxt"); }
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
  std::error_code failure;
  std::filesystem::create_directories(join_path(project.folder, "snapshots"), failure);
  if (failure) throw file_error(ExitCode::kIo, project.folder, "cannot create the folder: " + failure.message());
  for (const auto& [path, text] : files) write_file_atomically(path, *text);
}

}  // namespace cortado::tools
