#include "core/files/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"

namespace cortado {

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code unknown;
  path_ = (std::filesystem::temp_directory_path(unknown) / (name + "-XXXXXX")).string();
  if (!::mkdtemp(path_.data()))
    throw Error(ExitCode::kIo, path_ + ": " + std::strerror(errno), "set TMPDIR to another folder");
}

TemporaryFolder::~TemporaryFolder() {
  if (!made_here_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::add(const std::string& name, std::string_view content) const {
  write_file_atomically(path(name), content);
  return path(name);
}

}  // namespace cortado
