#pragma once

// Layer types of Caffe's family that are known but not supported, with a reason and a hint. One table, so that a net
// with such a layer is rejected by name and not as misspelt.

#include <string>

namespace cortado {

struct UnavailableType {
  const char* why;   ///< continues "type 'X' "
  const char* hint;  ///< what to do
};

/// Null for any other name.
const UnavailableType* find_unavailable_type(const std::string& name);

}  // namespace cortado
