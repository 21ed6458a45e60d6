#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cortado::http {

/// Whether `path` is like `pattern`, in which "*" is any one part of it; `parts` gets what stood there. The path's %XX
/// are decoded part by part. Throws RequestError(kInvalid) for wrong ones.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parts);

}  // namespace cortado::http
