#pragma once

#include <string>
#include <utility>

#include "core/error.h"

namespace cortado::data {

/// The mistake that concerns `path` as a whole.
inline Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint = {}) {
  Mistake mistake;
  mistake.place.file = path;
  mistake.message = std::move(message);
  mistake.hint = std::move(hint);
  return Error(code, std::move(mistake));
}

}  // namespace cortado::data
