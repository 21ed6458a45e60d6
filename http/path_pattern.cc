#include "http/path_pattern.h"

namespace cortado::http {

bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parts) {
  parts.clear();
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = pattern.substr(0, pattern.find('/', 1)), part = path.substr(0, path.find('/', 1));
    if (wanted == "/*" && part.size() > 1)
      parts.emplace_back(part.substr(1));
    else if (wanted != part)
      return false;
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(part.size());
  }
  return pattern.empty() && path.empty();
}

}  // namespace cortado::http
