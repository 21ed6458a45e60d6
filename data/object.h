#pragma once

#include <cmath>
#include <cstdint>

#include "core/box.h"

namespace cortado::data {

/// Corners lie no farther from the image's than so many pixels, or sides of it: areas and ratios stay numbers.
constexpr float kFarthestCorner = 1 << 24;

inline bool is_near_enough(double corner) { return std::abs(corner) <= double(kFarthestCorner); }  ///< NaN is not

/// An object in an image.
struct Object {
  int32_t label = 0;
  int32_t instance = 0;    ///< which one of its label
  Box box;                 ///< in parts of the image's sides
  bool difficult = false;  ///< hard to see: scores may leave it out

  bool operator==(const Object&) const = default;
};

}  // namespace cortado::data
