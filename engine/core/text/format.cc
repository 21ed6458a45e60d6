#include "core/text/format.h"

#include <cstdio>

namespace cortado {

std::string entry(const std::string& field, int64_t index) { return field + "[" + std::to_string(index) + "]"; }

std::string miscounted(const std::string& field, int64_t have, int64_t wanted) {
  return entry(field, have > wanted ? wanted : 0);
}

std::string count_of(int64_t number, const std::string& singular, const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

std::string to_text(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", double(value));
  return text;
}

}  // namespace cortado
