#include "core/limit_spinning.h"

#include <unistd.h>

#include <cstdlib>

namespace cortado {

void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "5000", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace cortado
