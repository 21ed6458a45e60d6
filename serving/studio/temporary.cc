#include "studio/temporary.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/files/file.h"
#include "http/request_error.h"

namespace cortado::studio {

TemporaryFolder::TemporaryFolder() : path_(std::filesystem::temp_directory_path() / "cortado-studio-XXXXXX") {
  if (!::mkdtemp(path_.data()))
    throw http::RequestError(http::Refusal::kUnavailable, path_ + ": " + std::strerror(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::add(const std::string& name, std::string_view content) const {
  write_file_atomically(path(name), content);
  return path(name);
}

}  // namespace cortado::studio
