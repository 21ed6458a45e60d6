#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.h"

namespace cortado {

/// A mistake in a text that leaves the rest readable: an unknown field, a value that a field cannot have.
struct TextMistake {
  Diagnostic mistake;
  Place layer = {};       ///< where the layer around it begins; not known outside of layers
  std::string type = {};  ///< the word that is no layer type of 2014, if this is what is wrong
};
using TextMistakes = std::vector<TextMistake>;

constexpr size_t kMaxMistakesTold = 50;

/// The first kMaxMistakesTold of them, and, where there are more, `rest` at the place of the last one.
std::vector<Diagnostic> first_of(const TextMistakes& mistakes, const std::string& rest);

/// What the author of an unknown field may have meant. `enclosing` are the messages around it, outermost first; the
/// last is the one that has no such field, read to its end. Looks for the name inside that message's own options (of
/// the layer's type first), around it, beside it, and then for the nearest name. Empty when nothing is near.
std::string suggest_field(const std::string& name, const std::vector<const google::protobuf::Message*>& enclosing);

}  // namespace cortado
