#pragma once

// Why a request got no answer. Each protocol has its own number for it; HTTP's are in message.cc.

#include <stdexcept>
#include <string>

namespace cortado::http {

enum class Refusal {
  kInvalid,       ///< what the request says is wrong
  kUnauthorized,  ///< no token, or another
  kForbidden,     ///< not from there, or not this
  kNotFound,      ///< nothing has this name
  kNoMethod,      ///< the path takes another method
  kTooLarge,      ///< more bytes than are allowed
  kMediaType,     ///< content of a kind that is not read
  kBusy,          ///< the queue is full: later it may do
  kUnavailable,   ///< not at this moment
  kLate,          ///< its time was over before it was computed
  kCancelled,     ///< the client is gone
  kInternal,      ///< a fault of our own
};

class RequestError : public std::runtime_error {
 public:
  RequestError(Refusal why, const std::string& message) : std::runtime_error(message), why_(why) {}
  Refusal why() const { return why_; }

 private:
  Refusal why_;
};

/// The exception that is being handled as one for the client: an Error of the net's is the request's fault where it is
/// about data or names, all else is ours and its text is logged instead of told.
RequestError current_request_error();

}  // namespace cortado::http
