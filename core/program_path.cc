#include "core/program_path.h"

#include <unistd.h>

#include <algorithm>

namespace cortado {

std::string program_path() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, size_t(std::max<ssize_t>(n, 0)));
}

}  // namespace cortado
