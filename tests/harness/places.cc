#include "tests/harness/places.h"

namespace cortado {

std::string in_source(const std::string& path) { return CORTADO_SOURCE_DIR "/" + path; }

}  // namespace cortado
