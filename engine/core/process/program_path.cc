#include "core/process/program_path.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>

#include "core/files/file.h"

namespace cortado {

std::string program_path() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return std::string(path, size_t(std::max<ssize_t>(n, 0)));
}

std::string code_path() {
  Dl_info info;
  link_map* map = nullptr;
  const bool known =
      ::dladdr1(reinterpret_cast<const void*>(&code_path), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  // The main program's entry has an empty name.
  return known && map && map->l_name[0] != 0 ? map->l_name : program_path();
}

std::string companion_path(const std::string& name) {
  const std::string here = folder_of(code_path());
  for (const char* folder : {"", "..", "../lib", "../lib/cortado", "../cortado", "../../cortado", "../../../cortado",
                             "../bin", "../../bin"}) {
    const std::string path = join_path(join_path(here, folder), name);
    if (file_exists(path)) return path;
  }
  return "";
}

}  // namespace cortado
