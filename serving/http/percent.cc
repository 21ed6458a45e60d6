#include "http/percent.h"

#include <algorithm>
#include <charconv>

#include "http/request_error.h"

namespace cortado::http {

namespace {

char byte_of(std::string_view digits) {
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 2 || failure != std::errc() || stop != end || value < 0)
    throw RequestError(Refusal::kInvalid, "the address is not escaped as addresses are");
  return char(value);
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%';
    out += escaped ? byte_of(text.substr(i + 1, 2)) : text[i];
    if (escaped) i += 2;
  }
  return out;
}

std::string query_decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decoded(spaced);
}

}  // namespace cortado::http
