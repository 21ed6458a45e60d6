#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.h"

namespace cortado {

/// An error in a text after which the rest can be parsed: an unknown field, an invalid value.
struct TextMistake {
  Diagnostic mistake;
  Place layer = {};          ///< position of the layer around it; unknown outside of layers
  std::string type = {};     ///< if the error is an unknown layer type in the format of 2014: that type
  std::string unknown = {};  ///< if the error is an unknown field: its text
};
using TextMistakes = std::vector<TextMistake>;

constexpr size_t kMaxMistakesTold = 50;

/// The first kMaxMistakesTold errors. If there are more, `rest` is appended with the place of the last one.
std::vector<Diagnostic> first_of(const TextMistakes& mistakes, const std::string& rest);

/// A hint for an unknown field. `enclosing` are the messages around it, outermost first; the last is the one without
/// such a field, read to its end. Searches for the name in that message's options (those of the layer's type first), in
/// the messages around it, and in those next to it; then for the nearest name. Empty if nothing is found.
std::string suggest_field(const std::string& name, const std::vector<const google::protobuf::Message*>& enclosing);

}  // namespace cortado
