#pragma once

// JSON of files and of other programs. A tree that nests a hundred thousand deep costs its writer a hundred kilobytes,
// and whoever prints, copies or compares it recursively the stack; so depth is bounded before a tree is built. Its size
// is bounded where the text is read: see read_file().

#include <stdexcept>
#include <string>
#include <string_view>

namespace cortado {

constexpr int kMaxJsonDepth = 64;

/// The text is no JSON, or nests deeper than kMaxJsonDepth.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether objects and lists of the text nest deeper than kMaxJsonDepth. The text need not be JSON.
bool json_nests_too_deep(std::string_view text);

/// The tree, as one of nlohmann's types. Throws JsonError.
template <typename Json>
Json parse_json(std::string_view text) {
  if (json_nests_too_deep(text)) throw JsonError("it nests deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::exception& error) {
    throw JsonError(error.what());
  }
}

/// The tree; null where parse_json() would throw.
template <typename Json>
Json parse_json_or_null(std::string_view text) {
  if (json_nests_too_deep(text)) return nullptr;
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

/// One of nlohmann's trees as text, in one line or indented. Names out of files are not always UTF-8: what is none
/// becomes U+FFFD.
template <typename Json>
std::string dumped_json(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cortado
