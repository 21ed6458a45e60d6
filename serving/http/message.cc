#include "http/message.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/dumped_json.h"
#include "core/text/text.h"

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

}  // namespace cortado::http
