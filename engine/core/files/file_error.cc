#include "core/files/file_error.h"

namespace cortado {

Mistake file_mistake(const std::string& path, std::string message, std::string hint, int line) {
  Mistake mistake;
  mistake.place.file = path;
  mistake.place.line = line;
  mistake.message = std::move(message);
  mistake.hint = std::move(hint);
  return mistake;
}

Error file_error(ExitCode code, const std::string& path, std::string message, std::string hint) {
  return Error(code, file_mistake(path, std::move(message), std::move(hint)));
}

}  // namespace cortado
