#pragma once

#include <string_view>

namespace cortado::data {

/// The text without the byte order mark that some editors and spreadsheets put first.
inline std::string_view without_bom(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace cortado::data
