#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace cortado::data {

/// What a file holds, as people can read it: not much of it, and no control characters.
inline std::string printable(std::string_view bytes) {
  std::string text(bytes.substr(0, 200));
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  return text;
}

/// The mistake that concerns `path` as a whole.
inline Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint = {}) {
  Mistake mistake;
  mistake.place.file = path;
  mistake.message = std::move(message);
  mistake.hint = std::move(hint);
  return Error(code, std::move(mistake));
}

}  // namespace cortado::data
