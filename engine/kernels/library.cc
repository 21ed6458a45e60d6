#include "kernels/library.h"

#include <dlfcn.h>

namespace cortado::kernels {

void* library_symbol(const char* file, const char* name) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // loaded once; never closed
  void* symbol = library ? dlsym(library, name) : nullptr;
  if (symbol) return symbol;
  const char* words = dlerror();
  throw MissingLibrary(ExitCode::kDevice, std::string(file) + " cannot be used: " + (words ? words : name),
                       "install it, or add its folder to LD_LIBRARY_PATH");
}

}  // namespace cortado::kernels
