#include "core/field_text.h"

#include <cctype>

namespace cortado {

namespace {

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Whether `text` has `name` as a word, or its plural.
bool has_word(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if (end < text.size() && text[end] == 's') ++end;
    if ((at == 0 || !is_part_of_name(text[at - 1])) && (end == text.size() || !is_part_of_name(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::string with_field(const FieldError& error) {
  std::string name = error.field().substr(error.field().rfind('.') + 1);
  name = name.substr(0, name.find('['));
  if (name.empty() || has_word(error.message(), name)) return error.message();
  return error.field() + ": " + error.message();
}

}  // namespace cortado
