#pragma once

#include <string>
#include <string_view>

namespace cortado::tools {

/// "data:image/jpeg;base64,...": a file's content as a page may hold it.
std::string data_uri(const std::string& type, std::string_view content);

}  // namespace cortado::tools
