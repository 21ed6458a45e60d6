#pragma once

#include <string>
#include <string_view>

namespace cortado::data {

/// The text without a byte order mark, which some editors and spreadsheets write.
inline std::string_view without_bom(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

/// The beginning of the bytes without control characters, for messages.
inline std::string printable(std::string_view bytes) {
  std::string text(bytes.substr(0, 200));
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  return text;
}

}  // namespace cortado::data
