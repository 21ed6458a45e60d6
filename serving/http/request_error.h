#pragma once

// Why a request was refused. Each protocol maps it to its own status codes; HTTP's are in message.cc.

#include <stdexcept>
#include <string>

namespace cortado::http {

enum class Refusal {
  kInvalid,       ///< the request is invalid
  kUnauthorized,  ///< no token, or a wrong one
  kForbidden,     ///< the origin or the operation is not allowed
  kNotFound,      ///< no such path or name
  kConflict,      ///< it exists already, or was changed meanwhile
  kNoMethod,      ///< the path has no such method
  kTooLarge,      ///< above a size limit
  kMediaType,     ///< unsupported content type
  kBusy,          ///< the queue is full; retry later
  kUnavailable,   ///< temporarily unavailable
  kLate,          ///< the deadline passed before it was computed
  kCancelled,     ///< the client disconnected
  kInternal,      ///< an internal error
};

class RequestError : public std::runtime_error {
 public:
  RequestError(Refusal why, const std::string& message) : std::runtime_error(message), why_(why) {}
  Refusal why() const { return why_; }

 private:
  Refusal why_;
};

/// Converts the current exception to an error for the client. An Error about data or names is the request's fault. Any
/// other text is logged and not sent to the client.
RequestError current_request_error();

}  // namespace cortado::http
