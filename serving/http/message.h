#pragma once

// Requests and replies for handlers.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/request_error.h"

namespace cortado::http {

/// The head of a request.
struct Head {
  std::string method{}, path{};                             ///< "GET", "/v2/models/lenet"
  std::map<std::string, std::string> query{};               ///< not decoded
  std::vector<std::pair<std::string, std::string>> fields;  ///< in the request's order

  /// The value of the field with this name (case-insensitive), or "".
  std::string_view field(std::string_view name) const;
};

class BodyStream;

struct Reply {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<BodyStream> more = nullptr;  ///< a stream after `body`, until either side closes
};

/// Converts an error to a reply: {"error": "..."}, with Retry-After if the client should retry.
Reply reply_of(const RequestError& error);

/// A request, which any thread must answer once.
struct Call {
  Head head;
  std::string body;
  std::shared_ptr<void> memory;                             ///< the body's share of the memory budget
  std::shared_ptr<const std::atomic<bool>> client_is_gone;  ///< set when it disconnects
  std::function<void(Reply)> answer;
};

/// The interface of request handlers.
class Handler {
 public:
  virtual ~Handler() = default;

  /// Called before the body is read; throws RequestError to refuse it. The result is held while the body is read.
  virtual std::shared_ptr<void> admit(const Head& head) = 0;

  /// Answers now or later. May instead throw RequestError or any exception that current_request_error() converts.
  virtual void handle(const std::shared_ptr<Call>& call) = 0;

  /// Called with each reply to a request, refusals included, before it is written.
  virtual void complete(const Head& /*head*/, Reply& /*reply*/) {}
};

/// Decodes %XX escapes. Throws RequestError(kInvalid) if they are not hexadecimal.
std::string percent_decoded(std::string_view text);

/// The same for a query value, where "+" is a space.
std::string query_decoded(std::string_view text);

/// Whether `path` matches `pattern`, in which "*" is any one segment. `parts` receives these segments. %XX is decoded
/// segment by segment. Throws RequestError(kInvalid) for invalid escapes.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parts);

}  // namespace cortado::http
