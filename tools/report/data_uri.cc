#include "tools/report/data_uri.h"

#include <cstdint>

namespace cortado::tools {

std::string data_uri(const std::string& type, std::string_view content) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "data:" + type + ";base64,";
  for (size_t i = 0; i < content.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < content.size() ? static_cast<unsigned char>(content[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k <= content.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace cortado::tools
