#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/error.h"

namespace cortado {

/// A mistake in a text that leaves the rest readable: an unknown field, a value that a field cannot have.
struct TextMistake {
  Mistake mistake;
  Place layer = {};       ///< where the layer around it begins; not known outside of layers
  std::string type = {};  ///< the word that is no layer type of 2014, if this is what is wrong
};
using TextMistakes = std::vector<TextMistake>;

constexpr size_t kMaxMistakesTold = 50;

/// The first kMaxMistakesTold of them, and, where there are more, `rest` at the place of the last one.
std::vector<Mistake> first_of(const TextMistakes& mistakes, const std::string& rest);

}  // namespace cortado
