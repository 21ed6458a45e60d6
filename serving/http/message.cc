#include "http/message.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/text/json.h"
#include "core/text/text.h"
#include "http/request_error.h"

namespace cortado::http {

namespace {

int status_of(Refusal why) {
  switch (why) {
    case Refusal::kInvalid:
      return 400;
    case Refusal::kUnauthorized:
      return 401;
    case Refusal::kForbidden:
      return 403;
    case Refusal::kNotFound:
      return 404;
    case Refusal::kConflict:
      return 409;
    case Refusal::kNoMethod:
      return 405;
    case Refusal::kTooLarge:
      return 413;
    case Refusal::kMediaType:
      return 415;
    case Refusal::kBusy:
    case Refusal::kUnavailable:
      return 503;
    case Refusal::kLate:
      return 504;
    case Refusal::kCancelled:
      return 499;
    case Refusal::kInternal:
      return 500;
  }
  return 500;
}

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

}  // namespace

std::string_view Head::field(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (is_same_name(key, name)) return value;
  return {};
}

Reply reply_of(const RequestError& error) {
  const nlohmann::json body = {{"error", error.what()}};
  Reply reply{status_of(error.why()), dumped_json(body)};
  if (reply.status == 503) reply.headers.emplace_back("Retry-After", "1");
  if (reply.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

namespace {

char byte_of(std::string_view digits) {
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 2 || failure != std::errc() || stop != end || value < 0)
    throw RequestError(Refusal::kInvalid, "the path has an invalid %XX escape");
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

bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parts) {
  parts.clear();
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = pattern.substr(0, pattern.find('/', 1)), part = path.substr(0, path.find('/', 1));
    const std::string decoded = percent_decoded(part);
    if (wanted == "/*" && decoded.size() > 1)
      parts.push_back(decoded.substr(1));
    else if (wanted != decoded)
      return false;
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(part.size());
  }
  return pattern.empty() && path.empty();
}

}  // namespace cortado::http
