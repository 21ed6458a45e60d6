#include "http/path_pattern.h"

#include "http/percent.h"

namespace cortado::http {

bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parts) {
  parts.clear();
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = pattern.substr(0, pattern.find('/', 1)), part = path.substr(0, path.find('/', 1));
    const std::string decoded = percent_decoded(part);
    if (wanted == "/*" && decoded.size() > 1)
      parts.push_back(decoded.substr(1));
    else if (wanted != decoded)
      return false;
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(part.size());
  }
  return pattern.empty() && path.empty();
}

}  // namespace cortado::http
