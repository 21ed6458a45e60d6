#include "core/program_path.h"

#include <unistd.h>

#include <algorithm>

#include "core/file.h"

namespace cortado {

std::string program_path() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, size_t(std::max<ssize_t>(n, 0)));
}

std::string library_path(const std::string& name) {
  for (const char* folder : {"", "../lib"}) {
    const std::string path = join_path(join_path(folder_of(program_path()), folder), name);
    if (file_exists(path)) return path;
  }
  return "";
}

}  // namespace cortado
