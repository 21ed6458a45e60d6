#include "core/files/temporary_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/files/made_folders.h"

namespace cortado {

namespace {

std::filesystem::path where_temporary_folders_are() {
  std::error_code unknown;
  return std::filesystem::temp_directory_path(unknown);
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& name) {
  path_ = (where_temporary_folders_are() / (name + "-" + std::to_string(::getpid()) + "-XXXXXX")).string();
  if (!::mkdtemp(path_.data()))
    throw Error(ExitCode::kIo, path_ + ": " + std::strerror(errno), "set TMPDIR to another folder");
  lock_ = lock_if_free(path_);
}

TemporaryFolder::~TemporaryFolder() {
  if (!made_here_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryFolder::remove_left(const std::string& name) {
  remove_left_in(where_temporary_folders_are().string(), name + "-", true);
}

std::string TemporaryFolder::add(const std::string& name, std::string_view content) const {
  write_file_atomically(path(name), content);
  return path(name);
}

}  // namespace cortado
