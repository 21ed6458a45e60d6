#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "proto/text/lexer.h"

namespace cortado {

/// A scalar value as written: an optional minus, a token, and for strings all adjacent ones.
struct ScalarText {
  bool negative = false;
  Token token;
  std::string string;  ///< of a kString: unescaped and joined
};

/// Why a value is invalid for its field; `message` is empty if it is valid.
struct ScalarProblem {
  std::string message, hint;
};

/// Sets or appends the value of `field`, by the rules of protobuf's text format.
ScalarProblem set_scalar(google::protobuf::Message& message, const google::protobuf::FieldDescriptor* field,
                         const ScalarText& value);

/// What `field` accepts, for messages: "a whole number from 0 to 4294967295", "text in quotes", "a message".
std::string kind_of(const google::protobuf::FieldDescriptor* field);

}  // namespace cortado
