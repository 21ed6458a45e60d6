#pragma once

// What a net that detects gives: rows of image, label, score and four corners, as DetectionOutput makes them.

#include <cstdint>
#include <vector>

#include "core/box.h"

namespace cortado::tools {

constexpr int64_t kDetectionRow = 7;

struct Found {
  int label;
  float score;
  Box box;  ///< in parts of the image
};

/// The objects in one image whose score is `threshold` or more, the surest first.
std::vector<Found> objects_in(const std::vector<float>& rows, float threshold);

}  // namespace cortado::tools
