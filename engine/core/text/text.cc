#include "core/text/text.h"

namespace cortado {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

std::string list_text(const std::vector<std::string>& names, const char* between) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : between) + name;
  return list;
}

std::string mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

std::string layer_text(const std::string& name) { return "layer '" + name + "'"; }

std::string layer_text(const std::string& name, const std::string& type) {
  return layer_text(name) + " (" + type + ")";
}

}  // namespace cortado
