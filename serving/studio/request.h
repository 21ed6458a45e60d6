#pragma once

// A request as the handlers of the studio's paths see it, and what they answer with.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "http/message.h"

namespace cortado::studio {

using Json = nlohmann::ordered_json;

/// Handlers run on threads of their own and may take a while. What they throw becomes the answer.
class Request {
 public:
  explicit Request(const http::Call& call) : call_(call) {}

  const std::string& content() const { return call_.body; }
  /// A parameter of the address, decoded; "" where it is not there. Throws RequestError(kInvalid) for bad escapes.
  std::string parameter(const std::string& name) const;
  int64_t number(const std::string& name, int64_t fallback) const;  ///< of the address, from 0
  /// A field of the head, as a whole number from 0.
  int64_t header_number(const std::string& name, int64_t fallback) const;
  /// The body. Throws RequestError(kInvalid) for what is no object, or is nested deeper than anything of ours.
  Json body() const;

 private:
  const http::Call& call_;
};

/// A member of an object of strangers: throws RequestError(kInvalid) for another type. `fallback` where there is none.
std::string text_in(const Json& object, const char* name, const std::string& fallback = {});
double number_in(const Json& object, const char* name, double fallback);
bool flag_in(const Json& object, const char* name, bool fallback);
std::vector<std::string> texts_in(const Json& object, const char* name);

http::Reply json_reply(const Json& body);
/// Text that is no JSON keeps its other characters.
std::string dump(const Json& body);

}  // namespace cortado::studio
