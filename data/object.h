#pragma once

#include <cstdint>

#include "core/box.h"

namespace cortado::data {

/// An object in an image.
struct Object {
  int32_t label = 0;
  int32_t instance = 0;    ///< which one of its label
  Box box;                 ///< in parts of the image's sides
  bool difficult = false;  ///< hard to see: scores may leave it out

  bool operator==(const Object&) const = default;
};

}  // namespace cortado::data
