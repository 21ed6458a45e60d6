#pragma once

#include <string>
#include <string_view>

namespace cortado {

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace cortado
