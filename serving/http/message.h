#pragma once

// A request and its answer as those see HTTP who answer.

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

/// What is known when the head was read.
struct Head {
  std::string method{}, path{};                             ///< "GET", "/v2/models/lenet"
  std::map<std::string, std::string> query{};               ///< as it stands, not decoded
  std::vector<std::pair<std::string, std::string>> fields;  ///< in the request's order

  /// The value of the field of this name, whose case does not matter; "" where there is none.
  std::string_view field(std::string_view name) const;
};

class BodyStream;

struct Reply {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<BodyStream> more = nullptr;  ///< what comes behind `body`, until either side closes
};

/// An error as the protocol tells it: {"error": "..."}, with Retry-After where it helps.
Reply reply_of(const RequestError& error);

/// A request to be answered once, by any thread.
struct Call {
  Head head;
  std::string body;
  std::shared_ptr<void> memory;                             ///< the server's, that the body takes
  std::shared_ptr<const std::atomic<bool>> client_is_gone;  ///< set when it hangs up
  std::function<void(Reply)> answer;
};

/// What requests are for.
class Handler {
 public:
  virtual ~Handler() = default;

  /// Whether a body is worth reading; what is returned is kept while it is read. Throws RequestError.
  virtual std::shared_ptr<void> admit(const Head& head) = 0;

  /// Answers now or later. Throws RequestError, or what current_request_error() takes, instead of answering.
  virtual void handle(const std::shared_ptr<Call>& call) = 0;
};

/// A part of an address with its %XX decoded. Throws RequestError(kInvalid) where they are no hexadecimal numbers.
std::string percent_decoded(std::string_view text);

/// The same of a value of a query, in which "+" is a space.
std::string query_decoded(std::string_view text);

/// Whether `path` is like `pattern`, in which "*" is any one part of it; `parts` gets what stood there. The path's %XX
/// are decoded part by part. Throws RequestError(kInvalid) for wrong ones.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& parts);

}  // namespace cortado::http
