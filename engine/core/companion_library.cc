#include "core/companion_library.h"

#include <dlfcn.h>

#include "core/process/program_path.h"

namespace cortado {

CompanionLibrary::CompanionLibrary(const std::string& file) : file_(file) {
  const std::string path = companion_path(file);
  if (!path.empty()) library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) why_not_ = path.empty() ? file + " is not next to the program" : ::dlerror();
}

void* CompanionLibrary::symbol(const char* name) {
  void* const found = library_ == nullptr ? nullptr : ::dlsym(library_, name);
  if (found == nullptr && why_not_.empty()) why_not_ = file_ + " has a different version";
  return found;
}

}  // namespace cortado
