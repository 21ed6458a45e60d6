#include "core/file_mistake.h"

namespace cortado {

Mistake file_mistake(const std::string& path, std::string message, std::string hint, int line) {
  Mistake mistake;
  mistake.place.file = path;
  mistake.place.line = line;
  mistake.message = std::move(message);
  mistake.hint = std::move(hint);
  return mistake;
}

}  // namespace cortado
