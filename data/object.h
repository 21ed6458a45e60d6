#pragma once

#include <cmath>
#include <cstdint>

#include "core/box.h"

namespace cortado::data {

/// Maximum distance of a box's corner from the image, in pixels or in sides, so that areas and ratios stay finite.
constexpr float kFarthestCorner = 1 << 24;

inline bool is_near_enough(double corner) { return std::abs(corner) <= double(kFarthestCorner); }  ///< false for NaN

/// An object in an image.
struct Object {
  int32_t label = 0;
  int32_t instance = 0;    ///< index among the objects of its label
  Box box;                 ///< in fractions of the image's sides
  bool difficult = false;  ///< hard to recognize: scores may exclude it

  bool operator==(const Object&) const = default;
};

}  // namespace cortado::data
