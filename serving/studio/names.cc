// Names of new files and folders.
#include <algorithm>

#include "core/text/text.h"
#include "http/request_error.h"
#include "studio/folder.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr size_t kMaxNameBytes = 200;

/// The length of the UTF-8 sequence at `at`, or 0 if it is invalid. Overlong forms count as invalid.
size_t sequence_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? uint8_t(text[at + i]) : uint8_t(0); };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0)
    return continues(1) && continues(2) && !(first == 0xe0 && byte(1) < 0xa0) && !(first == 0xed && byte(1) >= 0xa0)
               ? 3
               : 0;
  if (first < 0xf0 || first > 0xf4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  return (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90) ? 0 : 4;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_at(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

bool is_forbidden(char c) {
  return uint8_t(c) < 32 || c == 127 || std::string_view("/\\\",").find(c) != std::string_view::npos;
}

}  // namespace

const std::string& checked_name(const std::string& name) {
  const auto is_good = [](char c) { return is_plain(c) || c == '.'; };
  if (name.empty() || name.size() > 64 || name[0] == '.' || name[0] == '-' || !std::ranges::all_of(name, is_good))
    throw RequestError(Refusal::kInvalid,
                       "'" + name + "' is not a valid name; use at most 64 letters, digits, '_', '-' and '.'");
  return name;
}

const std::string& checked_file_name(const std::string& name) {
  const bool is_good = !name.empty() && name.size() <= kMaxNameBytes && is_utf8(name) &&
                       std::string_view(".- ").find(name[0]) == std::string_view::npos && name.back() != ' ' &&
                       std::ranges::none_of(name, is_forbidden);
  if (is_good) return name;
  throw RequestError(Refusal::kInvalid, "'" + name.substr(0, kMaxNameBytes) +
                                            "' is not a valid name; leave out commas, quotes, slashes, control "
                                            "characters and a leading '.' or '-', and use at most 200 bytes");
}

}  // namespace cortado::studio
