#include "core/process/random_id.h"

#include <cstdio>
#include <random>

namespace cortado {

std::string random_id() {
  std::random_device random;
  char text[17];
  std::snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

}  // namespace cortado
