#pragma once

// Requests and replies for the handlers of the studio's API.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "http/message.h"

namespace cortado::studio {

using Json = nlohmann::ordered_json;

/// Handlers run on their own threads and may block. Exceptions become error replies.
class Request {
 public:
  explicit Request(const http::Call& call) : call_(call) {}

  const std::string& content() const { return call_.body; }
  /// A decoded query parameter, or "". Throws RequestError(kInvalid) for invalid escapes.
  std::string parameter(const std::string& name) const;
  int64_t number(const std::string& name, int64_t fallback) const;  ///< of the query; not negative
  std::vector<int64_t> numbers(const std::string& name) const;      ///< of the query, separated by commas; not negative
  /// A header field as a non-negative integer.
  int64_t header_number(const std::string& name, int64_t fallback) const;
  /// The body. Throws RequestError(kInvalid) if it is not a JSON object or is nested too deeply.
  Json body() const;

 private:
  const http::Call& call_;
};

/// A member of an untrusted object, or `fallback`. Throws RequestError(kInvalid) if it has another type.
std::string text_in(const Json& object, const char* name, const std::string& fallback = {});
double number_in(const Json& object, const char* name, double fallback);
bool flag_in(const Json& object, const char* name, bool fallback);
std::vector<std::string> texts_in(const Json& object, const char* name);

http::Reply json_reply(const Json& body);
/// Serializes JSON; invalid UTF-8 is replaced.
std::string dump(const Json& body);

}  // namespace cortado::studio
