#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "proto/text/positions.h"

namespace cortado {

/// A message at `path` in the file of `positions`.
struct PlacedMessage {
  google::protobuf::Message& message;
  std::string path;
};

/// Copies the value of the field `from_field` of `from` (of element `index` if repeated) and its position to the field
/// `to_field` below `to`. `to_field` may name messages on the way, which are created: "param[1].lr_mult". A repeated
/// last field without an index is appended to. Both fields are messages of one type, strings, or numbers, booleans and
/// enums, which are converted by value.
void copy_field(const PlacedMessage& from, const std::string& from_field, int index, const PlacedMessage& to,
                const std::string& to_field, Positions& positions);

/// Whether the singular field `name` is set, or the repeated one has elements. False if `message` has no such field.
bool is_set(const google::protobuf::Message& message, const std::string& name);

}  // namespace cortado
