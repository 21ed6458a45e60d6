#pragma once

// Parsing of JSON from files and other programs. A document of 100 kB can nest 100,000 levels deep, and recursive
// printing, copying or comparison would overflow the stack. The depth is therefore checked before parsing. The size is
// bounded by the reader: see read_file().

#include <stdexcept>
#include <string>
#include <string_view>

namespace cortado {

constexpr int kMaxJsonDepth = 64;

/// Invalid JSON, or JSON that nests deeper than kMaxJsonDepth.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether objects and arrays nest deeper than kMaxJsonDepth. The text need not be valid JSON.
bool json_nests_too_deep(std::string_view text);

/// What an exception of nlohmann's says, without its name: "[json.exception.out_of_range.406] number overflow".
std::string json_reason(const std::string& what);

/// Parses to one of nlohmann's types. Throws JsonError.
template <typename Json>
Json parse_json(std::string_view text) {
  if (json_nests_too_deep(text)) throw JsonError("it nests deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const typename Json::exception& error) {
    throw JsonError(json_reason(error.what()));
  }
}

/// Like parse_json(), but returns null on error.
template <typename Json>
Json parse_json_or_null(std::string_view text) {
  if (json_nests_too_deep(text)) return nullptr;
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

/// Serializes one of nlohmann's trees, in one line or indented. Names from files may not be UTF-8; invalid bytes become
/// U+FFFD.
template <typename Json>
std::string dumped_json(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cortado
