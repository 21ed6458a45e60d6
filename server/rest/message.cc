#include "server/rest/message.h"

#include <nlohmann/json.hpp>

namespace cortado::server {

namespace {

int status_of(Refusal why) {
  switch (why) {
    case Refusal::kInvalid:
      return 400;
    case Refusal::kUnauthorized:
      return 401;
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

}  // namespace

Reply reply_of(const RequestError& error) {
  const nlohmann::json body = {{"error", error.what()}};
  Reply reply{status_of(error.why()), body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  if (reply.status == 503) reply.headers.emplace_back("Retry-After", "1");
  if (reply.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace cortado::server
