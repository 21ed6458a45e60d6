#pragma once

// Layer types of Caffe's family that are known and not here, with what to tell who meets one: one table, so that a net
// with such a layer is refused by name and not as if it were misspelt.

#include <string>

namespace cortado {

struct UnavailableType {
  const char* why;   ///< continues "type 'X' "
  const char* hint;  ///< what to do
};

/// Null for any other name.
const UnavailableType* find_unavailable_type(const std::string& name);

}  // namespace cortado
